-- Purpose: check the layout's version and write what is there from the first worker on: the long member of owners, the tasks' manifest.
-- KEYS: 1 prefix
-- ARGV: 1 this release's layout version; then task, manifest line pairs
-- Returns: {the layout version found (written when there was none), then task and former line of each whose line was another}
-- Cost: 3 commands, 2 a task
-- Called by: RedisStore::register
local found=call('GET',P..'schema')
if found and tonumber(found)>tonumber(A[1]) then return {found} end
if not found then call('SET',P..'schema',A[1]) end
call('HSET',OWN,'-',string.rep('-',65))                 -- keeps owners out of the small encoding, whose look-ups are O(n)
local out={found or A[1]}
for i=2,#A,2 do
  local former=call('HGET',P..'tasks',A[i])
  if former and former~=A[i+1] then out[#out+1],out[#out+2]=A[i],former end
  call('HSET',P..'tasks',A[i],A[i+1])
end
return out
