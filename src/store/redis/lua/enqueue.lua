-- Purpose: accept a batch of jobs, each whole or not at all.
-- KEYS: 1 prefix
-- ARGV: 1 process 2 lane 3 number 4 "<number-1>|" 5 resend (0/1) 6 refresh the lanes' lifetime (0/1) 7 c 8 queue and 9 priority when all are plain
--   and of one list, else '' 10 number of bodies apart; then id, value pairs [2c]; entries[c] (plain) or wheres[c]; when not plain extras[c]
--   "due;digest;kept ms;expires ms;unique key" (due: '' now, +ms, =epoch ms; digest '' without a key); then id, body pairs of the bodies apart
-- Returns: "n" all new; else a letter a job: N, or E or C (conflict) followed by the holder's id; STALE, LANE_LOST with a `!` in front
-- Cost: plain: see enqueue_plain.lua; else variadic HSET jobs, HSET places, ZADD, a RPUSH a list, and up to 3 commands a unique key
-- Called by: RedisStore::enqueue
local PIECE=400
local ms=now()
local said,here,values,late,due_at,lists,uniques={},{},{},{},{},{},{}
for i=1,c do
  local id,value,where=A[pairs_at+2*i-1],A[pairs_at+2*i],A[entries_at+i]
  local due,digest,kept,expires,unique=match(A[entries_at+c+i],'^([^;]*);(%x*);(%d*);(%d*);(.*)$')
  local held
  if digest~='' then
    local key=P..'unique:'..unique
    local h=uniques[key] and uniques[key][1]
    if not h then
      h=redis.pcall('GET',key)
      if type(h)~='string' then h=nil end
      if h and not (kept~='' or call('PTTL',key)>=0 or call('HEXISTS',JOBS,sub(h,1,L))==1) then h=nil end
    end
    if h and sub(h,1,L)~=id then held=h end
    if not held then uniques[key]={id..digest,kept} end
  end
  if held then
    said[i]=(sub(held,L+1)==digest and 'E' or 'C')..sub(held,1,L)
    if A[10]~='0' then call('HDEL',BODIES,id) end
  else
    said[i]='N'
    if expires~='' then value=string.gsub(value,'|%%~|','|'..int(ms+tonumber(expires))..'|',1) end
    values[#values+1]=id; values[#values+1]=value
    local at=ms
    if sub(due,1,1)=='+' then at=ms+tonumber(sub(due,2)) elseif sub(due,1,1)=='=' then at=tonumber(sub(due,2)) end
    if at>ms then
      late[#late+1]=id; late[#late+1]='s'
      due_at[#due_at+1]=int(at); due_at[#due_at+1]=where
    else
      local queue,prio,entry=split_where(where)
      local list=list_of(queue,prio)
      local l=lists[list]
      if not l then l={queue=queue}; lists[list]=l end
      l[#l+1]=entry
    end
  end
end
local function in_pieces(verb,key,list)
  local answer
  for i=1,#list,PIECE do answer=call(verb,key,unpack(list,i,math.min(#list,i+PIECE-1))) end
  return answer
end
in_pieces('HSET',JOBS,values)
for key,u in pairs(uniques) do
  if u[2]~='' then call('SET',key,u[1],'PX',u[2]) else call('SET',key,u[1]) end
end
in_pieces('HSET',PLACES,late)
in_pieces('ZADD',SCHED,due_at)
for list,l in pairs(lists) do
  if in_pieces('RPUSH',list,l)<=#l then arm(l.queue) end
end
local answer=table.concat(said)
if answer==string.rep('N',c) then answer='n' end
if A[2]=='' then return int(ms)..answer end              -- a step of a schedule: it has no lane
call('HSET',LANES,A[2],A[3]..'|'..answer)
if A[6]=='1' or not row then call('PEXPIRE',LANES,'600000') end
return answer
