-- Purpose: release what a token holds of a lock and give the lock to its next waiter. Idempotent.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 token
-- Returns: 1 released, 0 not held
-- Cost: 2 commands, about 10 when somebody waits
-- Called by: RedisStore::release
local held=unlock(A[1],A[2])
if call('ZSCORE',LC,A[1]) then free_and_offer(A[1],(now())) end
return held and 1 or 0
