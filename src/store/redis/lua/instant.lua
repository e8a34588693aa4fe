-- Purpose: the instant that belongs to a place. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: instant(id,value,place) -> ms when a scheduled job is due or a dead one was buried, else ''
-- Cost: at most ZSCORE
-- Called by: view, page, circumstances
local function instant(id,value,place)
  local kind=place and sub(place,1,1)
  if kind=='d' then return call('ZSCORE',DEAD,id) or '' end
  if kind~='s' then return '' end
  local queue,prio,locks=header(value)
  return queue and call('ZSCORE',SCHED,where_of(id,queue,prio,locks)) or ''
end
