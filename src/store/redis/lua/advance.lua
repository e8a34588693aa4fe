-- Purpose: move the test clock; every expiry of the namespace comes nearer by as much, in the same script, and by nothing else: what the
--   machine's own time has taken from them since the last move is given back.
-- KEYS: 1 prefix
-- ARGV: 1 ms
-- Returns: 1
-- Cost: 2 commands a key of the namespace: for tests only
-- Called by: RedisStore::advance
local by=tonumber(A[1])
local time=call('TIME')
local real=tonumber(time[1])*1000+math.floor(tonumber(time[2])/1000)
local offset,last=match(call('GET',P..'test_clock') or '','^(%d+)|(%d+)$')
call('SET',P..'test_clock',int(tonumber(offset or '0')+by)..'|'..int(real))
by=by-(real-tonumber(last or real))
for _,key in ipairs(call('KEYS',P..'*')) do
  local ttl=call('PTTL',key)
  if ttl>=0 then
    if ttl<=by then call('DEL',key) else call('PEXPIRE',key,int(ttl-by)) end
  end
end
return 1
