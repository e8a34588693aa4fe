-- Purpose: counts of everything. Reads only.
-- KEYS: 1 prefix
-- ARGV: queues to count
-- Returns: {scheduled, parked, active, dead, jobs, workers, paused queues in one string, then ready a queue}
-- Cost: 7 commands, 3 a queue; HVALS of places for the parked
-- Called by: RedisStore::census
local ms=now()
local parked=0
for _,key in ipairs(call('ZRANGE',LC,'0','-1')) do parked=parked+call('LLEN',P..'parked:'..key) end
local out={call('ZCARD',SCHED),parked,math.max(0,call('HLEN',OWN)-call('HEXISTS',OWN,'-')),call('ZCARD',DEAD),call('HLEN',JOBS),
  call('ZCOUNT',P..'workers',int(ms-60000),'+inf'),table.concat(call('SMEMBERS',PAUSED),',')}
for i=1,#A do
  out[#out+1]=call('LLEN',list_of(A[i],0))+call('LLEN',list_of(A[i],1))+call('LLEN',list_of(A[i],2))
end
return out
