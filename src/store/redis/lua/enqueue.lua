-- Purpose: accept a batch of jobs, each whole or not at all.
-- KEYS: 1 prefix
-- ARGV: 1 process 2 lane 3 number 4 "<number-1>|" 5 resend (0/1) 6 refresh the lanes' lifetime (0/1) 7 c 8 queue and 9 priority when all are plain
--   and of one list, else '' 10 number of bodies apart; then id, value pairs [2c]; entries[c] (plain) or wheres[c]; when not plain extras[c]
--   "due;digest;kept ms;expires ms;unique key" (due: '' now, +ms, =epoch ms; digest '' without a key); then id, body pairs of the bodies apart
-- Returns: "n" all new; else a letter a job: N, or E or C (conflict) followed by the holder's id; STALE, LANE_LOST with a `!` in front
-- Cost: plain: HSET and RPUSH a batch and 3 commands; else up to 6 commands a job
-- Called by: RedisStore::enqueue
local c=tonumber(A[7])
local LANES=P..'lanes:'..A[1]
local row=call('HGET',LANES,A[2])
if row then
  if sub(row,1,#A[4])~=A[4] then
    local number,at=tonumber(A[3]),tonumber(match(row,'^%d+'))
    if number==at then return match(row,'^%d+|(.*)$') end
    if number<at then return '!STALE' end
    return '!LANE_LOST'
  end
elseif A[3]~='1' or A[5]=='1' then return '!LANE_LOST' end
local pairs_at,entries_at=10,10+2*c
local nb=tonumber(A[10])
local plain=A[8]~=''
local bodies_at=entries_at+c+(plain and 0 or c)
for i=1,nb,400 do
  call('HSET',BODIES,unpack(A,bodies_at+2*i-1,bodies_at+2*math.min(nb,i+399)))
end
local answer='n'
if plain then
  local list,len=list_of(A[8],A[9]),0
  for i=1,c,400 do
    local j=math.min(c,i+399)
    call('HSET',JOBS,unpack(A,pairs_at+2*i-1,pairs_at+2*j))
    len=call('RPUSH',list,unpack(A,entries_at+i,entries_at+j))
  end
  if len<=c then arm(A[8]) end
else
  local ms=now()
  local said={}
  for i=1,c do
    local id,value,where=A[pairs_at+2*i-1],A[pairs_at+2*i],A[entries_at+i]
    local due,digest,kept,expires,unique=match(A[entries_at+c+i],'^([^;]*);(%x*);(%d*);(%d*);(.*)$')
    local held
    if digest~='' then
      local h=redis.pcall('GET',P..'unique:'..unique)
      if type(h)~='string' then h=nil end
      if h and (kept~='' or call('PTTL',P..'unique:'..unique)>=0 or call('HEXISTS',JOBS,sub(h,1,L))==1) then held=h end
      if held and sub(held,1,L)==id then held=nil end
    end
    if held then
      said[i]=(sub(held,L+1)==digest and 'E' or 'C')..sub(held,1,L)
      if nb>0 then call('HDEL',BODIES,id) end
    else
      said[i]='N'
      if expires~='' then value=string.gsub(value,'|%%~|','|'..int(ms+tonumber(expires))..'|',1) end
      call('HSET',JOBS,id,value)
      if digest~='' then
        if kept~='' then call('SET',P..'unique:'..unique,id..digest,'PX',kept) else call('SET',P..'unique:'..unique,id..digest) end
      end
      local at=ms
      if sub(due,1,1)=='+' then at=ms+tonumber(sub(due,2)) elseif sub(due,1,1)=='=' then at=tonumber(sub(due,2)) end
      if at>ms then
        call('HSET',PLACES,id,'s')
        call('ZADD',SCHED,int(at),where)
      else
        local queue,prio,entry=split_where(where)
        if call('RPUSH',list_of(queue,prio),entry)==1 then arm(queue) end
      end
    end
  end
  answer=table.concat(said)
  if answer==string.rep('N',c) then answer='n' end
end
call('HSET',LANES,A[2],A[3]..'|'..answer)
if A[6]=='1' or not row then call('PEXPIRE',LANES,'600000') end
return answer
