-- Purpose: take a free lock under a token, or say that it is busy. Idempotent by token.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 token 3 ttl ms
-- Returns: the fence, or "busy"
-- Cost: 5 to 8 commands
-- Called by: RedisStore::acquire
local key=A[1]
local lock=P..'lock:'..key
local held=redis.pcall('HGET',lock,A[2])
if type(held)=='string' then return held end
if call('EXISTS',lock)==1 then return 'busy' end
if call('ZSCORE',LC,key) and (call('HEXISTS',NEXT,key)==1 or call('EXISTS',P..'parked:'..key)==1) then return 'busy' end
local _,us=now()
local fence=int(math.max((tonumber(call('HGET',STATE,'fence') or '0') or 0)+1,us))
call('HSET',STATE,'fence',fence)
call('HSET',lock,A[2],fence)
call('PEXPIRE',lock,A[3])
return fence
