-- Purpose: the reply of a turn that was applied before: from its lane's row and its claim's row. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: replay_turn(lane row, token) -> as turn.lua
-- Cost: 4 commands
-- Called by: turn
local function replay_turn(lane,token)
  local bits,more=match(lane,'^%d+|([0-4]*)|(%d)')
  if not bits then return {'LANE_LOST'} end
  local row=call('HGET',CLAIMS,token)
  local ms=now()
  local out={'0|'..more..'|'..int(ms)..'|1|',bits,'',''}
  if not row then return out end
  local fence,all,notes=match(row,'^%d+|(%d+)|([^\n]*)\n(.*)$')
  if not fence then return out end
  local ids={}
  for i=1,#all/L do ids[i]=sub(all,(i-1)*L+1,i*L) end
  local own,values=call('HMGET',OWN,unpack(ids)),call('HMGET',JOBS,unpack(ids))
  out[1]=fence..'|'..more..'|'..int(ms)..'|1|'
  out[3]=all
  out[4]=notes
  for i=1,#ids do out[4+i]=own[i]==token and values[i] or '' end   -- '' : not this claim's any more
  return out
end
