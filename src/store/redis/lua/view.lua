-- Purpose: all that is known of a job, at one instant. Reads only.
-- KEYS: 1 prefix
-- ARGV: 1 id
-- Returns: {} or {value, big body, owner, place, tries, cancel mark, instant, now ms, progress} ('' where absent)
-- Cost: 7 commands, 8 for one that runs
-- Called by: RedisStore::job
local id=A[1]
local value=call('HGET',JOBS,id)
if not value then return {} end
local place=call('HGET',PLACES,id)
local owner=call('HGET',OWN,id)
local ms=now()
return {value,call('HGET',BODIES,id) or '',owner or '',place or '',call('HGET',TRIES,id) or '',call('HGET',CANCELS,id) or '',
  instant(id,value,place),int(ms),progress_of(id,owner)}
