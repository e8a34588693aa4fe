-- Purpose: delete a job: gone when it is not active, else asked to stop and removed at its settle.
-- KEYS: 1 prefix
-- ARGV: 1 id
-- Returns: "deleted", "requested", "late"
-- Cost: 4 to 15 commands
-- Called by: RedisStore::delete
local id=A[1]
local ms=now()
local value,owner,place=call('HGET',JOBS,id),call('HGET',OWN,id),call('HGET',PLACES,id)
if not value then return 'late' end
if owner then
  call('HSET',CANCELS,id,'d')
  redis.pcall('PUBLISH',P..'push:'..match(owner,'^[^.]*'),'c'..id)
  return 'requested'
end
leave(id,value,place,ms)
local _,_,_,_,_,unique=header(value)
if not (place and sub(place,1,1)=='d') then tell(id,'x') end
remove(id,unique or '')
return 'deleted'
