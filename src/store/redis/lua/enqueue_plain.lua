-- Purpose: recognise a resent batch; accept one of ready jobs of one list without unique keys or expiry. Fragment.
-- KEYS: 1 prefix
-- ARGV: see enqueue.lua
-- Returns: as enqueue.lua; when the batch is not plain, leaves c, LANES, row, pairs_at, entries_at, bodies_at to the rest of enqueue.lua
-- Cost: HGET, HSET, HSET, RPUSH (and 2 when the list was short)
-- Called by: enqueue
local c=tonumber(A[7])
local LANES=P..'lanes:'..A[1]
local row=call('HGET',LANES,A[2])
if row then
  if sub(row,1,#A[4])~=A[4] then
    local number,at=tonumber(A[3]),tonumber(match(row,'^%d+'))
    if number==at then return match(row,'^%d+|(.*)$') end
    if number<at then return '!STALE' end
    return '!LANE_LOST'
  end
elseif A[3]~='1' or A[5]=='1' then return '!LANE_LOST' end
local pairs_at,entries_at=10,10+2*c
local plain=A[8]~=''
local bodies_at=entries_at+c+(plain and 0 or c)
if A[10]~='0' then
  local nb=tonumber(A[10])
  for i=1,nb,400 do
    call('HSET',BODIES,unpack(A,bodies_at+2*i-1,bodies_at+2*math.min(nb,i+399)))
  end
end
if plain then
  local list,len=P..'queue:'..A[8]..':'..A[9],0
  for i=1,c,400 do
    local j=math.min(c,i+399)
    call('HSET',JOBS,unpack(A,pairs_at+2*i-1,pairs_at+2*j))
    len=call('RPUSH',list,unpack(A,entries_at+i,entries_at+j))
  end
  if len<=c then
    local mark=P..'wake:'..A[8]
    if call('EXISTS',mark)==0 then call('LPUSH',mark,'1') end
  end
  call('HSET',LANES,A[2],A[3]..'|n')
  if A[6]=='1' or not row then call('PEXPIRE',LANES,'600000') end
  return 'n'
end
