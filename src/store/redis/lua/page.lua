-- Purpose: a piece of a walk over jobs. Reads only.
-- KEYS: 1 prefix
-- ARGV: 1 walk: s scheduled, d dead, r the ready of a queue, a active, p parked, j all 2 position 3 how many 4 queue (walk r)
-- Returns: {next position or '', now ms, then for each job: id, header line, task, owner, place, tries, cancel mark, instant}
-- The task is '' where the body stands apart: task_names.lua reads those, in smaller pieces, for a body may be long.
-- Cost: 6 or 7 commands, one more for each job that is scheduled or dead; O(how many)
-- Called by: RedisStore::jobs
local walk,position,count=A[1],A[2],tonumber(A[3])
local ms=now()
local ids,seen,following,known={},{},'',{}
local function add(id)
  if #id==L and not seen[id] then seen[id]=true; ids[#ids+1]=id end
end
if walk=='s' or walk=='d' then
  local from=tonumber(position)
  local rows=call(walk=='s' and 'ZRANGE' or 'ZREVRANGE',walk=='s' and SCHED or DEAD,int(from),int(from+count-1))
  for _,row in ipairs(rows) do
    if walk=='d' then add(row) else
      local _,_,_,id=split_where(row)
      add(id)
    end
  end
  if #rows==count then following=int(from+count) end
elseif walk=='r' then
  -- the three lists one after the other: three times the offset, and the priority
  local prio,from=tonumber(position)%3,math.floor(tonumber(position)/3)
  local left=count
  while left>0 and prio<=2 do
    local rows=call('LRANGE',list_of(A[4],int(prio)),int(from),int(from+left-1))
    for _,row in ipairs(rows) do add(sub(row,1,L)) end
    left,from=left-#rows,from+#rows
    if left>0 then prio,from=prio+1,0 end
  end
  if prio<=2 then following=int(from*3+prio) end
else
  local source=JOBS
  if walk=='a' then source=OWN elseif walk=='p' then source=PLACES end
  local piece=call('HSCAN',source,position,'COUNT',int(count))
  for i=1,#piece[2],2 do
    if walk=='j' then known[piece[2][i]]=piece[2][i+1] end
    if walk~='p' or sub(piece[2][i+1],1,1)=='p' then add(piece[2][i]) end
  end
  if piece[1]~='0' then following=piece[1] end
end
local out={following,int(ms)}
if #ids==0 then return out end
local owners,places=call('HMGET',OWN,unpack(ids)),call('HMGET',PLACES,unpack(ids))
local values=walk~='j' and call('HMGET',JOBS,unpack(ids))
local tries,marks=call('HMGET',TRIES,unpack(ids)),call('HMGET',CANCELS,unpack(ids))
for i,id in ipairs(ids) do
  local value=known[id] or values and values[i]
  if value and not (walk=='r' and (owners[i] or places[i])) then
    local n=#out
    out[n+1]=id
    out[n+2]=match(value,'^[^\n]*\n?')
    out[n+3]=match(value,'\n([^|\n]*)') or ''
    out[n+4]=owners[i] or ''
    out[n+5]=places[i] or ''
    out[n+6]=tries[i] or ''
    out[n+7]=marks[i] or ''
    out[n+8]=instant(id,value,places[i])
  end
end
return out
