-- Purpose: a claim's row. Reads only. Fragment.
-- A claim's locks all hold its first fence, for they are copies of one; an attempt's own is as far above it as its job's place in the claim.
-- KEYS: -
-- ARGV: -
-- Returns: claim_of(token) -> first fence and list of ids, or nil; fence_of(token,id) -> the fence of a claim's job, or nil
-- Cost: 1 command
-- Called by: lock_row, settle
local function claim_of(token)
  local first,ids=match(call('HGET',CLAIMS,token) or '','^%d+|(%d+)|([^\n]*)')
  if not first then return end
  local list={}
  for from=1,#ids,L do list[#list+1]=sub(ids,from,from+L-1) end
  return first,list
end
local function fence_of(token,id)
  local first,ids=claim_of(token)
  for i,one in ipairs(ids or {}) do
    if one==id then return int(tonumber(first)+i-1) end
  end
end
