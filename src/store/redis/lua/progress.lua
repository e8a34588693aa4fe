-- Purpose: how far the attempt that owns a job has come. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: progress_of(id,owner) -> what this owner said last, or ''
-- Cost: GET, where somebody owns the job
-- Called by: view, circumstances
local function progress_of(id,owner)
  local said=owner and call('GET',P..'progress:'..id) or ''
  local by=find(said,'|',1,true)
  return by and sub(said,1,by-1)==owner and sub(said,by+1) or ''
end
