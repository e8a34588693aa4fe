-- Purpose: every schedule's row.
-- KEYS: 1 prefix
-- ARGV: -
-- Returns: {now ms, version; then name, row, whether the job of its latest tick lives (0/1)}
-- Cost: 2 commands, 2 a schedule that has a job
-- Called by: RedisStore::schedules
local out={int((now())),call('HGET',STATE,'schedules') or '0'}
local all=call('HGETALL',SCHEDULES)
for i=1,#all,2 do
  out[#out+1]=all[i]; out[#out+1]=all[i+1]
  out[#out+1]=job_lives(sub(all[i+1],1,L)) and '1' or '0'
end
return out
