-- Purpose: a worker asks for one job at its last strike, which it has emptied itself for: an entry of it goes to the head of its list. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: lone(id,queues) -> its list, the only one that the claim may look at; '' when the job is not to be had
-- Cost: 7 commands
-- Called by: turn
local function lone(id,queues)
  local queue,prio,locks,_,_,_,limit=header(call('HGET',JOBS,id) or '')
  local t=tries_read(call('HGET',TRIES,id))
  local ready=queue and call('HEXISTS',OWN,id)==0 and call('HEXISTS',PLACES,id)==0 and call('SISMEMBER',PAUSED,queue)==0
  if not ready or t.mark=='' or t.strikes+1<tonumber(limit) then return '' end
  for _,asked in ipairs(queues) do
    if asked==queue then
      local list=list_of(queue,prio)
      call('LPUSH',list,entry_of(id,locks))
      return list
    end
  end
  return ''
end
