-- Purpose: take a lock under a token, confirm an offer, or stand in line: in one list with parked jobs, first come first served. Idempotent by token.
-- Whoever asks also does for this lock what a look would: a free one goes to the first who lives, so clients alone need no reaper.
-- KEYS: 1 prefix
-- ARGV: 1 key 2 token 3 ttl ms 4 whether it may stand in line already (0/1)
-- Returns: the fence where it is held now (see take.lua), or "w" and the ms after which to ask again
-- Cost: 2 to 8 commands where it is taken, about 12 where it waits; LPOS over the line when it asks again
-- Called by: RedisStore::acquire_or_park
local ASK_MS,ROW_MS=1000,60000
local ms=now()
local pk,where=P..'parked:'..key,'c'..token
call('ZADD',WAITING,int(ms),match(token,'^[^.]*'))
call('PEXPIRE',WAITING,int(ROW_MS))
if A[4]=='0' or not call('LPOS',pk,where) then call('RPUSH',pk,where) end
if not call('ZSCORE',LC,key) then call('ZADD',LC,int(ms),key) end
asking=token                                            -- it is here: no push is needed to reach it
check_lock(key,ms)
local fence=redis.pcall('HGET',lock,token)
if type(fence)=='string' then
  call('PEXPIRE',lock,A[3])
  return fence
end
local look=tonumber(call('ZSCORE',LC,key) or '0')-ms
return 'w'..int(math.min(ASK_MS,math.max(look,1)))
