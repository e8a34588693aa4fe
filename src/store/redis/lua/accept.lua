-- Purpose: judge jobs that come in, by their unique keys, and write those that are new. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: judge(list,pairs_at,entries_at,c,ms) -> plan, with said: a letter a job, N, or E or C (conflict) followed by the holder's id; admit(plan)
-- Cost: judge: up to 3 commands a unique key; admit: variadic HSET jobs, HSET places, ZADD, a RPUSH a list, and one command a unique key
-- Called by: enqueue, step, effects
local PIECE=400
local function judge(T,pairs_at,entries_at,c,ms)
  local said,is_new,values,late,due_at,lists,uniques={},{},{},{},{},{},{}
  for i=1,c do
    local id,value,where=T[pairs_at+2*i-1],T[pairs_at+2*i],T[entries_at+i]
    local due,digest,kept,expires,unique=match(T[entries_at+c+i],'^([^;]*);(%x*);(%d*);(%d*);(.*)$')
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
    else
      said[i]='N'
      is_new[id]=true
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
  return {said=said,is_new=is_new,values=values,late=late,due_at=due_at,lists=lists,uniques=uniques}
end
local function in_pieces(verb,key,list)
  local answer
  for i=1,#list,PIECE do answer=call(verb,key,unpack(list,i,math.min(#list,i+PIECE-1))) end
  return answer
end
local function admit(plan)
  in_pieces('HSET',JOBS,plan.values)
  for key,u in pairs(plan.uniques) do
    if u[2]~='' then call('SET',key,u[1],'PX',u[2]) else call('SET',key,u[1]) end
  end
  in_pieces('HSET',PLACES,plan.late)
  in_pieces('ZADD',SCHED,plan.due_at)
  for list,l in pairs(plan.lists) do
    if in_pieces('RPUSH',list,l)<=#l then arm(l.queue) end
  end
end
