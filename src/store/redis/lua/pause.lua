-- Purpose: stop claims from a queue, or allow them again.
-- KEYS: 1 prefix
-- ARGV: 1 queue 2 pause (1) or resume (0)
-- Returns: 1
-- Cost: 1 to 3 commands
-- Called by: RedisStore::pause, RedisStore::resume
if A[2]=='1' then call('SADD',PAUSED,A[1]) else
  call('SREM',PAUSED,A[1])
  arm(A[1])
end
return 1
