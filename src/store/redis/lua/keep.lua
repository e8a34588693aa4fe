-- Purpose: a lock that is released before its shortest time: it stays under its token and ends by itself then. Idempotent.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 token 3 for how many ms
-- Returns: 1 it is kept, 0 not held
-- Cost: 3 commands, 4 when somebody waits
-- Called by: RedisStore::keep
if not holds(A[1],A[2]) then return 0 end
keep(A[1],A[2],A[3],(now()))
return 1
