-- Purpose: what a token holds of a lock is given back, or stays for a while. Fragment.
-- REDISSON is written into the text as true where the client was set up beside Redisson: its waiters, on the Java side, subscribe to this channel.
-- KEYS: -
-- ARGV: -
-- Returns: unlock(key,token) -> whether it was held; holds(key,token); keep(key,token,for how many ms,now): it ends by itself then; unlocked(key): tells Redisson's waiters that a lock's hash has gone
-- Cost: 1 command, 2 beside Redisson
-- Called by: keep, settle, free, release, give_up, break
local function unlocked(key)
  if REDISSON then redis.pcall('PUBLISH','redisson_lock__channel:'..P..'lock:'..key,'0') end
end
local function unlock(key,token)
  if redis.pcall('HDEL',P..'lock:'..key,token)~=1 then return false end
  if REDISSON then unlocked(key) end
  return true
end
local function holds(key,token) return redis.pcall('HEXISTS',P..'lock:'..key,token)==1 end
local function keep(key,token,time,ms)
  call('PEXPIRE',P..'lock:'..key,time)
  if call('ZSCORE',LC,key) then call('ZADD',LC,int(ms+tonumber(time)+1),key) end
end
