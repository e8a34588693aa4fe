-- Purpose: whether a job is neither dead nor gone. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: job_lives(id)
-- Cost: 2 commands
-- Called by: schedules, step
local function job_lives(id)
  return call('HEXISTS',JOBS,id)==1 and sub(call('HGET',PLACES,id) or '',1,1)~='d'
end
