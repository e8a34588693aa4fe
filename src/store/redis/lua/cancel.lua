-- Purpose: cancel a job: buried when it is not active, else asked to stop.
-- KEYS: 1 prefix
-- ARGV: 1 id
-- Returns: "cancelled", "requested", "late"
-- Cost: 4 to 15 commands
-- Called by: RedisStore::cancel
local id=A[1]
local ms=now()
local value,owner,place=call('HGET',JOBS,id),call('HGET',OWN,id),call('HGET',PLACES,id)
if not value or (place and sub(place,1,1)=='d') then return 'late' end
if owner then
  if not call('HGET',CANCELS,id) then call('HSET',CANCELS,id,'c') end
  redis.pcall('PUBLISH',P..'push:'..match(owner,'^[^.]*'),'c'..id)
  return 'requested'
end
leave(id,value,place,ms)
bury(id,value,'c','cancelled',ms)
record('cancelled|'..id..'|||0|0||'..(match(value,'\n([^|\n]*)') or ''))
return 'cancelled'
