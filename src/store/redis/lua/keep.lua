-- Purpose: a lock that is released before its shortest time: it stays under its token and ends by itself then. Idempotent.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 token 3 for how many ms
-- Returns: 1 it is kept, 0 not held
-- Cost: 3 commands, 4 when somebody waits
-- Called by: RedisStore::keep
local lock=P..'lock:'..A[1]
if redis.pcall('HEXISTS',lock,A[2])~=1 then return 0 end
call('PEXPIRE',lock,A[3])
if call('ZSCORE',LC,A[1]) then call('ZADD',LC,int((now())+tonumber(A[3])+1),A[1]) end
return 1
