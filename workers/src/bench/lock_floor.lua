-- lock_floor.lua: the least that frees a lock safely: compare and delete.
-- KEYS:    1 the lock
-- ARGV:    1 the holder's token
-- returns: 1 freed, 0 not held
-- cost:    GET and DEL
-- called by: bench/lock.rs
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
