-- Purpose: look at one lock that somebody waits for: a free one goes to the first waiter, a turn that was not taken to the following. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: check_lock(key,ms)
-- Cost: 3 commands, 5 while it is held, about 15 when the lock changes hands
-- Called by: look, ask
local FOREIGN_MS=500
local function check_lock(key,ms)
  local lock=P..'lock:'..key
  local row=call('HGET',NEXT,key)
  if row then
    local till,since,where=match(row,'^(%d+)|(%d+)|(.*)$')
    local queue,prio,entry,id=split_where(where)
    if id and tonumber(till)>ms then
      call('ZADD',LC,till,key)
    else
      call('HDEL',NEXT,key)
      local waiter=absent(key) and free(key,ms)
      -- the late one keeps its place: at the head of those who wait, behind the one whose turn it is now
      if id and call('HEXISTS',JOBS,id)==1 and call('HEXISTS',OWN,id)==0 and call('HEXISTS',PLACES,id)==0 then
        call('HSET',PLACES,id,'p'..since..'|'..key)
        call('LPUSH',P..'parked:'..key,where)
        call('LREM',list_of(queue,prio),'1',entry)
        local _,_,_,_,wait=header(call('HGET',JOBS,id))
        if wait and wait~='' then call('ZADD',WAITS,int(tonumber(since)+tonumber(wait)),id) end
        if not call('ZSCORE',LC,key) then call('ZADD',LC,int(ms+OFFER_MS+1),key) end   -- a client got it, and was the last
      end
      if not waiter and absent(key) then waiter=free(key,ms) end
      if waiter then offer(key,waiter,ms)
      else settle_checks(key) end
    end
  elseif absent(key) then
    local waiter=free(key,ms)
    if waiter then offer(key,waiter,ms) end
  else
    local ttl=call('PTTL',lock)
    if ttl<=0 then ttl=1000 end
    local holder=redis.pcall('HKEYS',lock)[1]
    -- a holder that is none of ours (Redisson writes `id:thread`) does not tell when it unlocks
    if ttl>FOREIGN_MS and (not holder or find(holder,':',1,true)) then ttl=FOREIGN_MS end
    call('ZADD',LC,int(ms+ttl+1),key)
    settle_checks(key)
  end
end
