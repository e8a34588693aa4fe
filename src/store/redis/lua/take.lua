-- Purpose: take a free lock that nobody waits for, or confirm what the token holds already; else the script goes on. Fragment, first in its script.
-- An offer is confirmed like any hold: the same token asks again, and the hold lasts from then.
-- KEYS: -
-- ARGV: 1 key 2 token 3 ttl ms
-- Returns: the fence, as the script's reply, where it is held now
-- Cost: 3 commands for a confirmation, 6 where nobody holds or waits for a lock, up to 10 else
-- Called by: acquire, ask
local key,token=A[1],A[2]
local lock=P..'lock:'..key
-- one look for the usual case: nobody holds it, nobody waits for any lock
local some=call('EXISTS',lock,LC)
local held=some>0 and redis.pcall('HGET',lock,token)
if type(held)=='string' then
  call('PEXPIRE',lock,A[3])
  return held
end
if some==0 or call('EXISTS',lock)==0 and not (call('ZSCORE',LC,key) and (call('HEXISTS',NEXT,key)==1 or call('EXISTS',P..'parked:'..key)==1)) then
  local _,us=now()
  local fence=int(math.max((tonumber(call('HGET',STATE,'fence') or '0') or 0)+1,us))
  call('HSET',STATE,'fence',fence)
  call('HSET',lock,token,fence)
  call('PEXPIRE',lock,A[3])
  return fence
end
