-- floor.lua: the least that a queue without locks, owners or leases could do in one round trip a batch.
-- KEYS:    1 list of whole envelopes; 2 zset of what runs
-- ARGV:    1 envelopes to take; 2 their deadline; 3.. envelopes to acknowledge
-- returns: the envelopes taken, empty when there are none
-- cost:    one ZREM, one LPOP, one ZADD, whatever the batch
-- called by: bench/floor.rs
if #ARGV > 2 then redis.call('ZREM', KEYS[2], unpack(ARGV, 3)) end
local taken = redis.call('LPOP', KEYS[1], ARGV[1])
if not taken then return {} end
local scored = {}
for i = 1, #taken do
  scored[i * 2 - 1] = ARGV[2]
  scored[i * 2] = taken[i]
end
redis.call('ZADD', KEYS[2], unpack(scored))
return taken
