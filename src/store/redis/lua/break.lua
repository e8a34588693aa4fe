-- Purpose: an operator takes a lock from whoever holds it; it goes to the next who waits.
-- KEYS: 1 prefix
-- ARGV: 1 key
-- Returns: {} when nobody holds it, {"foreign"} when something that is no lock stands there, or {token, fence}
-- Cost: about 12 commands, about 22 when somebody waits
-- Called by: RedisStore::break_lock
local KEPT_MS,KEPT_MAX=4000000,1000                     -- how long, and of how many, the holder is told what happened: longer than any lease
local key=A[1]
local lock=P..'lock:'..key
local ms=now()
call('HDEL',STATE,'-')                                  -- a first write that a full server allows
local row=redis.pcall('HGETALL',lock)
if row.err then return {'foreign'} end
if #row<2 then return {} end
local fence=holder(key,row[1],row[2])
call('DEL',lock)
unlocked(key)
call('ZREMRANGEBYSCORE',BROKEN,'-inf',int(ms-KEPT_MS))
call('ZADD',BROKEN,int(ms),row[1]..'|'..key)
call('ZREMRANGEBYRANK',BROKEN,'0',int(-KEPT_MAX-1))
call('PEXPIRE',BROKEN,int(KEPT_MS))
if call('ZSCORE',LC,key) then free_and_offer(key,ms) end
redis.pcall('PUBLISH',P..'push:'..match(row[1],'^[^.]*'),'b'..row[1]..'|'..key)
return {row[1],fence}
