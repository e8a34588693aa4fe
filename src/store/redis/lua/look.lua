-- Purpose: the look: promote what is due, reap one lapsed claim, check locks and waits, trim the dead by age; sweep. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: look(ms,queues,sweep row) -> whether it has to go on at the next turn, whether anything became ready
-- Cost: 2 commands when there is nothing; at most 200 promotions, 1 claim, 20 lock checks, 50 waits
-- Called by: turn
local PROMOTE_MAX,CHECKS_MAX,WAITS_MAX=200,20,50
local function promote(ms)
  local due=call('ZRANGEBYSCORE',SCHED,'-inf',int(ms),'LIMIT','0',int(PROMOTE_MAX))
  if #due==0 then return 0 end
  local ids,by={},{}
  for i=1,#due do
    local _,_,_,id=split_where(due[i]); ids[i]=id or ''      -- what is none of ours has no place, and goes
  end
  local places=call('HMGET',PLACES,unpack(ids))
  local moved,m={},0
  for i=1,#due do
    if places[i]=='s' then
      local queue,prio,entry=split_where(due[i])
      local key=list_of(queue,prio)
      local l=by[key]
      if not l then l={queue}; by[key]=l end
      l[#l+1]=entry
      m=m+1; moved[m]=ids[i]
    end
  end
  for key,l in pairs(by) do
    call('RPUSH',key,unpack(l,2))
    arm(l[1])
  end
  if m>0 then call('HDEL',PLACES,unpack(moved)) end
  call('ZREM',SCHED,unpack(due))
  return #due
end
local function check_locks(ms)
  local keys=call('ZRANGEBYSCORE',LC,'-inf',int(ms),'LIMIT','0',int(CHECKS_MAX))
  table.sort(keys)
  for _,key in ipairs(keys) do check_lock(key,ms) end
  return #keys==CHECKS_MAX
end
-- waited long enough: to the head of its queue, marked by a score below zero to be delivered without its lock
local function end_waits(ms)
  local ids=call('ZRANGEBYSCORE',WAITS,'0',int(ms),'LIMIT','0',int(WAITS_MAX))
  for _,id in ipairs(ids) do
    local place,value=call('HGET',PLACES,id),call('HGET',JOBS,id)
    local since,key=match(place or '','^p(%d+)|(.*)$')
    local queue,prio,locks=header(value or '')
    if key and queue then
      call('LPUSH',list_of(queue,prio),entry_of(id,locks))
      unpark(key,where_of(id,queue,prio,locks),id)
      call('ZADD',WAITS,'-'..since,id)
      settle_checks(key)
      arm(queue)
    else
      call('ZREM',WAITS,id)
    end
  end
end
local function look(ms,queues,swept)
  local again=false
  if call('EXISTS',SCHED,ACTIVE,DEAD,LC,WAITS)>0 then
    if promote(ms)==PROMOTE_MAX then again=true end
    if reap(ms) then again=true end
    if check_locks(ms) then again=true end
    end_waits(ms)
    trim_dead(ms)
  end
  sweep(ms,swept)
  -- whoever took a mark and died left none behind: every queue with entries gets one
  local lists,n={},0
  for _,queue in ipairs(queues) do
    for prio=0,2 do n=n+1; lists[n]=list_of(queue,prio) end
  end
  local any=n>0 and call('EXISTS',unpack(lists))>0
  if any then
    for q,queue in ipairs(queues) do
      if call('EXISTS',lists[q*3-2],lists[q*3-1],lists[q*3])>0 and call('SISMEMBER',PAUSED,queue)==0 then arm(queue) end
    end
  end
  return again,any
end
