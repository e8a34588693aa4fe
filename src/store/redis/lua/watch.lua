-- Purpose: register a process to be told of a job's end, or take that back.
-- KEYS: 1 prefix
-- ARGV: 1 id 2 process 3 add (1) or take back (0)
-- Returns: "watching", "gone", or "d" and a death's letter
-- Cost: 3 to 4 commands
-- Called by: RedisStore::watch, RedisStore::unwatch
local id=A[1]
local who=call('HGET',WATCHED,id) or ''
local rest={}
for process in string.gmatch(who,'[^,]+') do if process~=A[2] then rest[#rest+1]=process end end
if A[3]=='1' then
  local place=call('HGET',PLACES,id)
  if call('HEXISTS',JOBS,id)==0 then return 'gone' end
  if place and sub(place,1,1)=='d' then return sub(place,1,2) end
  rest[#rest+1]=A[2]
  while #rest>16 do table.remove(rest,1) end
end
if #rest>0 then call('HSET',WATCHED,id,table.concat(rest,',')) else call('HDEL',WATCHED,id) end
return 'watching'
