-- Purpose: move the end of locks held by themselves. What is not held any more is never taken again here.
-- KEYS: 1 prefix
-- ARGV: a hold: key, token, ttl ms
-- Returns: a letter a hold, in order: R renewed, B broken by an operator, T another token holds it, E nobody does: it ended
-- Cost: 2 commands a hold, 2 more for one that is lost
-- Called by: RedisStore::renew_holds
call('HDEL',STATE,'-')                                  -- a first write that a full server allows
local said={}
for i=1,#A,3 do
  local key,token=A[i],A[i+1]
  local lock=P..'lock:'..key
  if redis.pcall('HEXISTS',lock,token)==1 then
    call('PEXPIRE',lock,A[i+2])
    said[#said+1]='R'
  elseif call('ZSCORE',BROKEN,token..'|'..key) then said[#said+1]='B'
  elseif call('EXISTS',lock)==1 then said[#said+1]='T'
  else said[#said+1]='E' end
end
return table.concat(said)
