-- Purpose: a job and what stands around it, at one instant: why it is not running. Reads only.
-- KEYS: 1 prefix
-- ARGV: 1 id 2 entries within which its position is looked for
-- Returns: {} or {value, big body, owner, place, tries, cancel mark, instant, now ms, progress, paused (1), deadline of its claim, fence of its claim,
--   ms when it gives up, position, lock key, waiters, holder's token, holder's fence, lock's ttl ms, holder's job} ('' where absent)
-- Cost: 10 to 21 commands; LPOS over at most A[2] entries, HMGET of one claim's jobs
-- Called by: RedisStore::circumstances
local id=A[1]
local value=call('HGET',JOBS,id)
if not value then return {} end
local place,owner=call('HGET',PLACES,id),call('HGET',OWN,id)
local ms=now()
local queue,prio,locks=header(value)
local out={value,call('HGET',BODIES,id) or '',owner or '',place or '',call('HGET',TRIES,id) or '',call('HGET',CANCELS,id) or '',
  instant(id,value,place),int(ms),progress_of(id,owner)}
out[10]=queue and call('SISMEMBER',PAUSED,queue)==1 and '1' or ''
out[11],out[12]='',''
if owner then
  out[11]=call('ZSCORE',ACTIVE,owner) or ''
  out[12]=claim_of(owner) or ''
end
local key,position
out[13]=''
if place and sub(place,1,1)=='p' then
  key=match(place,'|(.*)$')
  out[13]=call('ZSCORE',WAITS,id) or ''
  position=queue and call('LPOS',P..'parked:'..key,where_of(id,queue,prio,locks),'MAXLEN',A[2])
elseif queue and not owner and not place then
  position=call('LPOS',list_of(queue,prio),entry_of(id,locks),'MAXLEN',A[2])
  for higher=0,tonumber(prio)-1 do position=position and position+call('LLEN',list_of(queue,int(higher))) end
  for lock in each_lock(locks) do
    local row=call('HGET',NEXT,lock)
    if row and find(row,'|'..where_of(id,queue,prio,locks),1,true) then key=key or lock end
  end
end
out[14]=position and int(position) or ''
if key then lock_row(out,15,key) end
return out
