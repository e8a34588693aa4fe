-- Purpose: a lock that was released goes to its next waiter. Fragment.
-- A lock is given to a job only inside the claim that also makes it owned. Here the first live waiter of an absent lock becomes
-- `next`: at the head of its queue, noted with a deadline. Waiters of paused queues are passed over and keep their place. A client gets its offer here.
-- KEYS: -
-- ARGV: -
-- Returns: free(key,ms,first waiter where known) -> where and place of the next job (still in parked) or nil, also where a client got it; offer(key,where,ms);
--   free_and_offer(key,ms); free_held(lock specs,token,ms)
-- Cost: 2 commands a waiter looked at, at most 16 jobs and 512 clients of silent processes
-- Called by: settle, reap, checks, release, cancel, delete, claim
local NEXT_MS,PAUSED_MS,PASSED_MAX,LOOKED_MAX=2000,500,16,512
local function absent(key) return call('EXISTS',P..'lock:'..key)==0 end
-- nothing waits and nothing is offered: no look is needed
local function settle_checks(key)
  if call('EXISTS',P..'parked:'..key)==0 and call('HEXISTS',NEXT,key)==0 then call('ZREM',LC,key) end
end
local function unpark(key,where,id)
  call('LREM',P..'parked:'..key,'1',where)
  call('HDEL',PLACES,id)
  call('ZREM',WAITS,id)
end
local function free(key,ms,first)
  if not absent(key) then settle_checks(key); return nil end
  local pk,at,jobs=P..'parked:'..key,0,0
  for _=1,LOOKED_MAX do
    local where=first or call('LINDEX',pk,int(at))
    first=nil
    if not where or jobs==PASSED_MAX then break end
    local client=sub(where,1,1)=='c' and sub(where,2)
    if client then
      local said=offer_client(key,client,ms)
      if said=='silent' then at=at+1 else call('LREM',pk,'1',where) end
      if said=='offered' then
        call('ZADD',LC,int(ms+OFFER_MS+1),key)
        settle_checks(key)
        return nil
      end
    else
      jobs=jobs+1
      local queue,_,_,id=split_where(where)
      local place=id and call('HGET',PLACES,id)
      if not place or sub(place,1,1)~='p' or match(place,'|(.*)$')~=key then
        call('LREM',pk,'1',where)                       -- dead: gone, cancelled, or waiting elsewhere
      elseif (not rare or rare.paused) and call('SISMEMBER',PAUSED,queue)==1 then
        at=at+1
      else
        return where,place
      end
    end
  end
  -- only waiters of paused queues and clients that cannot be told, or none: the look comes back for those
  if at>0 then call('ZADD',LC,int(ms+PAUSED_MS),key) else settle_checks(key) end
  return nil
end
local function offer(key,where,ms)
  local queue,prio,entry,id=split_where(where)
  local till=int(ms+NEXT_MS)
  local since=match(call('HGET',PLACES,id) or '','^p(%d+)|') or int(ms)
  call('HSET',NEXT,key,till..'|'..since..'|'..where)
  call('LPUSH',list_of(queue,prio),entry)
  unpark(key,where,id)
  call('ZADD',LC,till,key)
  arm(queue)
end
-- for callers without a claim of their own to take it
local function free_and_offer(key,ms)
  if call('HEXISTS',NEXT,key)==1 then return end
  local where=free(key,ms)
  if where then offer(key,where,ms) end
end
-- what jobs of a claim held, after they are back: the next waiter stands before them
local function free_held(specs,token,ms)
  for _,locks in ipairs(specs) do
    for key in each_lock(locks) do
      unlock(key,token)
      if call('ZSCORE',LC,key) then free_and_offer(key,ms) end
    end
  end
end
