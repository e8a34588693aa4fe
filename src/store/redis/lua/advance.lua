-- Purpose: move the test clock; every expiry of the namespace comes nearer by as much, in the same script.
-- KEYS: 1 prefix
-- ARGV: 1 ms
-- Returns: 1
-- Cost: 2 commands a key of the namespace: for tests only
-- Called by: RedisStore::advance
local by=tonumber(A[1])
call('INCRBY',P..'test_clock',A[1])
for _,key in ipairs(call('KEYS',P..'*')) do
  local ttl=call('PTTL',key)
  if ttl>=0 then
    if ttl<=by then call('DEL',key) else call('PEXPIRE',key,int(ttl-by)) end
  end
end
return 1
