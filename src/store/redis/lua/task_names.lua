-- Purpose: the tasks of jobs whose bodies stand apart. Reads only.
-- KEYS: 1 prefix
-- ARGV: ids, at most 16: a body may be 64 KiB
-- Returns: the task of each, '' where there is no body
-- Cost: a command a job
-- Called by: RedisStore::jobs
local out={}
for i=1,#A do out[i]=match(call('HGET',BODIES,A[i]) or '','^[^|\n]*') end
return out
