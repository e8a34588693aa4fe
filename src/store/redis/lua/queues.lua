-- Purpose: what operators ask of queues. Reads only.
-- KEYS: 1 prefix
-- ARGV: queues
-- Returns: for each: its ready entries, paused (1 or 0), ids at the heads of its lists of which the first of each list is ready, in one string
-- Cost: 7 commands a queue, 4 more a list with entries
-- Called by: RedisStore::queues
local LOOKED_AT=10
local out={}
for i=1,#A do
  local ready,heads=0,''
  for prio=0,2 do
    local list=list_of(A[i],int(prio))
    local n=call('LLEN',list)
    ready=ready+n
    if n>0 then
      local ids={}
      for k,entry in ipairs(call('LRANGE',list,'0',int(LOOKED_AT-1))) do ids[k]=sub(entry,1,L) end
      local values,owners,places=call('HMGET',JOBS,unpack(ids)),call('HMGET',OWN,unpack(ids)),call('HMGET',PLACES,unpack(ids))
      for k,id in ipairs(ids) do
        if values[k] and not owners[k] and not places[k] then heads=heads..id; break end
      end
    end
  end
  out[3*i-2],out[3*i-1],out[3*i]=int(ready),int(call('SISMEMBER',PAUSED,A[i])),heads
end
return out
