-- Purpose: a client waits for a lock no longer: it leaves the line, and what was offered to it meanwhile goes to the next. Idempotent.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 token
-- Returns: 1 it held the lock, 0 it did not
-- Cost: 3 commands, about 10 when somebody else waits; LREM over the line
-- Called by: RedisStore::give_up
local key,token=A[1],A[2]
local held=unlock(key,token)
call('LREM',P..'parked:'..key,'0','c'..token)
if call('ZSCORE',LC,key) then
  free_and_offer(key,(now()))
  settle_checks(key)
end
return held and 1 or 0
