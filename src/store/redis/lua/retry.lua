-- Purpose: make a scheduled or dead job ready now.
-- KEYS: 1 prefix
-- ARGV: 1 id
-- Returns: "ready", "not_needed", "late", or "C" and the id that holds its unique key by now
-- Cost: 4 to 12 commands
-- Called by: RedisStore::retry
local id=A[1]
local ms=now()
local value,owner,place=call('HGET',JOBS,id),call('HGET',OWN,id),call('HGET',PLACES,id)
if not value then return 'late' end
if owner or not place or sub(place,1,1)=='p' then return 'not_needed' end
local queue,prio,locks,_,_,unique=header(value)
if not queue then return 'late' end
if sub(place,1,1)=='d' then
  if unique~='' then
    local held=call('GET',P..'unique:'..unique)
    local kept=held and (call('PTTL',P..'unique:'..unique)>=0 or call('HEXISTS',JOBS,sub(held,1,L))==1)
    if kept and sub(held,1,L)~=id then return 'C'..sub(held,1,L) end
    call('SET',P..'unique:'..unique,id..(match(place,'^d.|%d+|(%x*)|') or ''))
  end
  -- an expiry would end it at once
  call('HSET',JOBS,id,(string.gsub(value,'^(1|[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|)%d*','%1',1)))
  local t=tries_read(call('HGET',TRIES,id))
  t.charged=0; t.strikes=0; t.mark=''; t.mismatches=0; t.since=0; t.by=''
  tries_write(id,t)
  call('RPUSH',list_of(queue,prio),entry_of(id,locks))
  call('ZREM',DEAD,id)
  if call('HINCRBY',STATE,'dead_bytes','-'..(match(place,'^d.|(%d+)|') or '0'))<=0 then call('HDEL',STATE,'dead_bytes') end
else
  call('RPUSH',list_of(queue,prio),entry_of(id,locks))
  leave(id,value,place,ms)
end
call('HDEL',PLACES,id)
arm(queue)
return 'ready'
