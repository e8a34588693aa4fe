-- Purpose: a worker lives; rows and lanes of workers silent for 10 minutes go.
-- KEYS: 1 prefix
-- ARGV: 1 worker 2 its card as JSON 3 remove it (1) or not (0); then the names of its tasks
-- Returns: {workers that spoke within a minute, whether what a registration writes is there (1) or was lost (0), version of the schedules}
-- Cost: 8 commands, 10 at times
-- Called by: RedisStore::heartbeat, RedisStore::deregister
local ms=now()
local W,CARDS=P..'workers',P..'worker_cards'
local gone=call('ZRANGEBYSCORE',W,'-inf',int(ms-600000),'LIMIT','0','50')
if A[3]=='1' then gone[#gone+1]=A[1] end
for _,worker in ipairs(gone) do
  call('ZREM',W,worker)
  call('HDEL',CARDS,worker)
  for _,field in ipairs(call('HKEYS',STATE)) do
    if sub(field,1,#worker+3)=='l:'..worker..'.' then call('HDEL',STATE,field) end
  end
end
if A[3]~='1' then
  call('ZADD',W,int(ms),A[1])
  call('HSET',CARDS,A[1],A[2])
end
if A[3]~='1' and call('PTTL',W)<600000 then             -- not with every word
  call('PEXPIRE',W,'1200000')
  call('PEXPIRE',CARDS,'1200000')
end
local there=call('EXISTS',P..'schema')
if #A>3 then
  local lines=redis.pcall('HMGET',P..'tasks',unpack(A,4))   -- of another type: no word of the worker mends it
  for i=1,#A-3 do
    if lines[i]==false then there=0 end
  end
end
return {call('ZCOUNT',W,int(ms-60000),'+inf'),there,tonumber(call('HGET',STATE,'schedules') or '0')}
