-- Purpose: settle one stuck attempt over the watchdog's connection. Conditional like any settle, so it may be repeated.
-- KEYS: 1 prefix
-- ARGV: 1 attempts blob or '' 2 attempts kept 3 verdict's letter 4 "token=1," 5 locks (0, 1: one, 2: several) 6 nested 7 uniques 8 locks kept; then id, lock spec if 5, extra
-- Returns: 1 accepted, 0 lost
-- Cost: as one settle of turn.lua
-- Called by: RedisStore::surrender
local ms=now()
call('HDEL',STATE,'-')
rare={checks=true,paused=true,bodies=true,cancels=true,tries=true,watched=true}
local bits=settle(8,1,A[3]=='d' and '' or A[3],A[4],A[5],A[6],A[7],A[8],ms,function(key)
  if call('ZSCORE',LC,key) then R().free_and_offer(key,ms) end
end)
if bits=='' and A[1]~='' then
  local no=tonumber(call('HGET',STATE,'no') or '0')+1
  local last=call('XREVRANGE',P..'attempts','+','-','COUNT','1')[1]
  if last then no=math.max(no,tonumber(match(last[1],'^%d+'))+1) end
  call('XADD',P..'attempts','MINID','~',int(math.max(0,no-A[2])),int(no),'b',A[1],'a','')
  call('HSET',STATE,'no',int(no))
end
return bits=='' and 1 or 0
