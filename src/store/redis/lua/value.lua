-- Purpose: what stands under a key of the user's, when it is not too much.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 the most elements
-- Returns: {kind, elements...}; {kind} alone with a number of elements when there are more; pairs are flat, a stream's entries are {id, fields}
-- Cost: 3 commands
-- Called by: RedisStore::value
local key,most=A[1],tonumber(A[2])
local kind=call('TYPE',key).ok
if kind=='none' then return {kind} end
if kind=='string' then return {kind,{call('GET',key)}} end
local how={hash={'HLEN','HGETALL'},set={'SCARD','SMEMBERS'},zset={'ZCARD','ZRANGE','0','-1','WITHSCORES'},list={'LLEN','LRANGE','0','-1'},stream={'XLEN','XRANGE','-','+'}}
local h=how[kind]
if not h then return {kind,0} end
local n=call(h[1],key)
if n>most then return {kind,n} end
if h[3] then return {kind,call(h[2],key,unpack(h,3))} end
return {kind,call(h[2],key)}
