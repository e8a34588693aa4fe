-- Purpose: the workers' cards and when they spoke last; the names of paused queues. Reads only.
-- KEYS: 1 prefix
-- ARGV: 1 how many workers 2 how long a silent one is kept, ms
-- Returns: {now ms, paused queues in one string, then for each worker, the latest to speak first: worker, ms when it spoke, card}
-- Cost: 4 commands, O(workers)
-- Called by: RedisStore::workers, RedisStore::queues
local ms=now()
local out={int(ms),table.concat(call('SMEMBERS',PAUSED),',')}
local rows=call('ZREVRANGEBYSCORE',P..'workers','+inf','('..int(ms-tonumber(A[2])),'WITHSCORES','LIMIT','0',A[1])
if #rows==0 then return out end
local names={}
for i=1,#rows,2 do names[#names+1]=rows[i] end
local cards=call('HMGET',P..'worker_cards',unpack(names))
for i,name in ipairs(names) do
  local n=#out
  out[n+1],out[n+2],out[n+3]=name,rows[2*i],cards[i] or ''
end
return out
