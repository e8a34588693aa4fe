-- Purpose: a lock, its holder and how many wait, for the read model. Reads only. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: holder(key,token,what the lock holds) -> its fence, its job ('' where none is known); lock_row(out,at,key): fills out from `at` on with key,
--   waiters and, where it is held, holder's token, holder's fence, ttl ms, holder's job
-- Cost: 4 commands; HMGET of one claim's jobs
-- Called by: circumstances, locks, break
local function holder(key,token,fence)
  local first,ids=claim_of(token)
  local values=ids and #ids>0 and call('HMGET',JOBS,unpack(ids)) or {}
  for i,value in ipairs(values) do
    local _,_,spec=header(value or '')
    if spec and find(','..spec..',',','..key..',',1,true) then return int(tonumber(first)+i-1),ids[i] end
  end
  return fence,''
end
local function lock_row(out,at,key)
  local lock=P..'lock:'..key
  out[at],out[at+1]=key,int(call('LLEN',P..'parked:'..key))
  local row=redis.pcall('HGETALL',lock)
  if type(row)~='table' or row.err or #row<2 then return end
  out[at+2],out[at+4]=row[1],int(math.max(0,call('PTTL',lock)))
  out[at+3],out[at+5]=holder(key,row[1],row[2])
end
