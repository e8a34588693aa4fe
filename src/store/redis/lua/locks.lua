-- Purpose: locks as operators see them; of one lock also who waits, in order. Reads only.
-- KEYS: 1 prefix
-- ARGV: 1 waiters to list of each lock 2.. keys
-- Returns: {now ms, then for each lock a list: its job that is next ('' where none), its waiters, as they stand in `parked`, '', then what lock_row.lua says}
-- Cost: 6 commands a lock
-- Called by: RedisStore::locks, RedisStore::lock
local out={int((now()))}
for i=2,#A do
  local key=A[i]
  local row={match(call('HGET',NEXT,key) or '','^%d+|%d+|(.*)$') or ''}
  if A[1]~='0' then
    for _,where in ipairs(call('LRANGE',P..'parked:'..key,'0',int(tonumber(A[1])-1))) do row[#row+1]=where end
  end
  row[#row+1]=''
  lock_row(row,#row+1,key)
  out[#out+1]=row
end
return out
