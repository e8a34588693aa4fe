-- Purpose: release what a token holds of a lock and give the lock to its next waiter. Idempotent.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 token
-- Returns: 1 released, 0 not held (see let_go.lua)
-- Cost: 2 commands, about 10 when somebody waits
-- Called by: RedisStore::release
free_and_offer(A[1],(now()))
return held and 1 or 0
