-- Purpose: a lock, its holder and how many wait, for the read model. Reads only. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: claim_of(token) -> first fence and ids of a claim; lock_row(out,at,key): fills out from `at` on with key, waiters and, where it is held,
--   holder's token, holder's fence, ttl ms, holder's job ('' where none is known)
-- Cost: 4 commands; HMGET of one claim's jobs
-- Called by: circumstances, locks
local function claim_of(token) return match(call('HGET',CLAIMS,token) or '','^%d+|(%d+)|([^\n]*)') end
local function lock_row(out,at,key)
  local lock=P..'lock:'..key
  out[at],out[at+1]=key,int(call('LLEN',P..'parked:'..key))
  local row=redis.pcall('HGETALL',lock)
  if type(row)~='table' or row.err or #row<2 then return end
  out[at+2],out[at+3],out[at+4],out[at+5]=row[1],row[2],int(math.max(0,call('PTTL',lock))),''
  local _,ids=claim_of(row[1])
  if not ids then return end
  local held,n={},0
  for from=1,#ids,L do n=n+1; held[n]=sub(ids,from,from+L-1) end
  local values=n>0 and call('HMGET',JOBS,unpack(held)) or {}
  for i=1,n do
    local _,_,spec=header(values[i] or '')
    if spec and find(','..spec..',',','..key..',',1,true) then out[at+5]=held[i]; break end
  end
end
