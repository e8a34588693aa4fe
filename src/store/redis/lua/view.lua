-- Purpose: all that is known of a job, at one instant. Reads only.
-- KEYS: 1 prefix
-- ARGV: 1 id
-- Returns: {} or {value, big body, owner, place, tries, cancel mark, due ms, now ms} ('' where absent)
-- Cost: 7 commands
-- Called by: RedisStore::job
local id=A[1]
local value=call('HGET',JOBS,id)
if not value then return {} end
local place=call('HGET',PLACES,id)
local due=''
if place=='s' then
  local queue,prio,locks=header(value)
  due=queue and call('ZSCORE',SCHED,where_of(id,queue,prio,locks)) or ''
end
local ms=now()
return {value,call('HGET',BODIES,id) or '',call('HGET',OWN,id) or '',place or '',call('HGET',TRIES,id) or '',call('HGET',CANCELS,id) or '',due,int(ms)}
