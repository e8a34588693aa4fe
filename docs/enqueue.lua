local A=ARGV
local call,sub,find,fmt,match=redis.call,string.sub,string.find,string.format,string.match
local quiet=false
local rare
local function now()
local t=call('TIME')
local s,us=tonumber(t[1]),tonumber(t[2])
return s*1000+math.floor(us/1000),s*1000000+us
end
local c=tonumber(A[7])
local LANES='{linchpin}:lanes:'..A[1]
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
local plain=A[8]~=''
local bodies_at=entries_at+c+(plain and 0 or c)
if A[10]~='0' then
local nb=tonumber(A[10])
for i=1,nb,400 do
call('HSET','{linchpin}:bodies',unpack(A,bodies_at+2*i-1,bodies_at+2*math.min(nb,i+399)))
end
end
if plain then
local list,len='{linchpin}:queue:'..A[8]..':'..A[9],0
for i=1,c,400 do
local j=math.min(c,i+399)
call('HSET','{linchpin}:jobs',unpack(A,pairs_at+2*i-1,pairs_at+2*j))
len=call('RPUSH',list,unpack(A,entries_at+i,entries_at+j))
end
if len<=c then
local mark='{linchpin}:wake:'..A[8]
if call('EXISTS',mark)==0 then call('LPUSH',mark,'1') end
end
call('HSET',LANES,A[2],A[3]..'|n')
if A[6]=='1' or not row then call('PEXPIRE',LANES,'600000') end
return 'n'
end
local function header(v)
return match(v,'^1|([%w_.-]+)|([012])|([^|\n]*)|([wsf]?z?%d*)|(%d*)|([^|\n]*)|(%d+)|')
end
local function entry_of(id,locks) if locks=='' then return id end return id..'|'..locks end
local function where_of(id,queue,prio,locks) return prio..queue..'|'..entry_of(id,locks) end
local function split_where(w)
local prio,queue,entry=match(w or '','^([012])([%w_.-]+)|(.*)$')
if not prio or #entry<22 then return nil end
return queue,prio,entry,sub(entry,1,22)
end
local function list_of(queue,prio) return '{linchpin}:queue:'..queue..':'..prio end
local function arm(queue)
local key='{linchpin}:wake:'..queue
if call('EXISTS',key)==0 then call('LPUSH',key,'1') end
end
local function each_lock(locks) return string.gmatch(locks,'[^,]+') end
local PIECE=400
local function judge(T,pairs_at,entries_at,c,ms)
local said,is_new,values,late,due_at,lists,uniques={},{},{},{},{},{},{}
for i=1,c do
local id,value,where=T[pairs_at+2*i-1],T[pairs_at+2*i],T[entries_at+i]
local due,digest,kept,expires,unique=match(T[entries_at+c+i],'^([^;]*);(%x*);(%d*);(%d*);(.*)$')
local held
if digest~='' then
local key='{linchpin}:unique:'..unique
local h=uniques[key] and uniques[key][1]
if not h then
h=redis.pcall('GET',key)
if type(h)~='string' then h=nil end
if h and not (kept~='' or call('PTTL',key)>=0 or call('HEXISTS','{linchpin}:jobs',sub(h,1,22))==1) then h=nil end
end
if h and sub(h,1,22)~=id then held=h end
if not held then uniques[key]={id..digest,kept} end
end
if held then
said[i]=(sub(held,22+1)==digest and 'E' or 'C')..sub(held,1,22)
else
said[i]='N'
is_new[id]=true
if expires~='' then value=string.gsub(value,'|%%~|','|'..fmt('%d',ms+tonumber(expires))..'|',1) end
values[#values+1]=id; values[#values+1]=value
local at=ms
if sub(due,1,1)=='+' then at=ms+tonumber(sub(due,2)) elseif sub(due,1,1)=='=' then at=tonumber(sub(due,2)) end
if at>ms then
late[#late+1]=id; late[#late+1]='s'
due_at[#due_at+1]=fmt('%d',at); due_at[#due_at+1]=where
else
local queue,prio,entry=split_where(where)
local list=list_of(queue,prio)
local l=lists[list]
if not l then l={queue=queue}; lists[list]=l end
l[#l+1]=entry
end
end
end
return {said=said,is_new=is_new,values=values,late=late,due_at=due_at,lists=lists,uniques=uniques}
end
local function in_pieces(verb,key,list)
local answer
for i=1,#list,PIECE do answer=call(verb,key,unpack(list,i,math.min(#list,i+PIECE-1))) end
return answer
end
local function admit(plan)
in_pieces('HSET','{linchpin}:jobs',plan.values)
for key,u in pairs(plan.uniques) do
if u[2]~='' then call('SET',key,u[1],'PX',u[2]) else call('SET',key,u[1]) end
end
in_pieces('HSET','{linchpin}:places',plan.late)
in_pieces('ZADD','{linchpin}:scheduled',plan.due_at)
for list,l in pairs(plan.lists) do
if in_pieces('RPUSH',list,l)<=#l then arm(l.queue) end
end
end
local ms=now()
local plan=judge(A,pairs_at,entries_at,c,ms)
if A[10]~='0' then
for i=1,c do
if plan.said[i]~='N' then call('HDEL','{linchpin}:bodies',A[pairs_at+2*i-1]) end
end
end
admit(plan)
local answer=table.concat(plan.said)
if answer==string.rep('N',c) then answer='n' end
if A[2]=='' then return fmt('%d',ms)..answer end
call('HSET',LANES,A[2],A[3]..'|'..answer)
if A[6]=='1' or not row then call('PEXPIRE',LANES,'600000') end
return answer
