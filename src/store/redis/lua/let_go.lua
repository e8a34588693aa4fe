-- Purpose: release what a token holds of a lock; where nobody waits for it that is all, else the script goes on. Fragment, before all that only waiters need.
-- KEYS: -
-- ARGV: 1 key 2 token
-- Returns: 1 released, 0 not held, as the script's reply where nobody waits; else held
-- Cost: 2 commands
-- Called by: release
local held=unlock(A[1],A[2])
if not call('ZSCORE',LC,A[1]) then return held and 1 or 0 end
