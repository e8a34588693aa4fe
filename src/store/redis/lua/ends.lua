-- Purpose: the ways a job ends: removed or buried; its unique key freed, its watchers told. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: free_unique(id,key), tell(id,how), remove(id,unique), bury(id,value,death,reason,ms), trim_dead(ms)
-- Cost: up to 12 commands a buried job
-- Called by: settle, reap, look, cancel, delete
local DEAD_KEPT,DEAD_BYTES,DEAD_MS=10000,268435456,7776000000
local function free_unique(id,key)
  if key=='' then return '' end
  local held=redis.pcall('GET',P..'unique:'..key)
  if type(held)~='string' or sub(held,1,L)~=id then return '' end
  call('DEL',P..'unique:'..key)
  return sub(held,L+1)
end
-- how: 'd' done, 'x' deleted, 'b' and a death's letter; told by pcall, for a channel may be forbidden
local function tell(id,how)
  local who=call('HGET',WATCHED,id)
  if not who then return end
  call('HDEL',WATCHED,id)
  for process in string.gmatch(who,'[^,]+') do redis.pcall('PUBLISH',P..'push:'..process,'e'..id..how) end
end
-- every row of a job that is in no list any more
local function remove(id,unique)
  call('HDEL',OWN,id); call('HDEL',JOBS,id); call('HDEL',BODIES,id); call('HDEL',TRIES,id); call('HDEL',CANCELS,id)
  local place=call('HGET',PLACES,id)
  if place then
    call('HDEL',PLACES,id)
    if sub(place,1,1)=='d' then
      call('ZREM',DEAD,id)
      local left=call('HINCRBY',STATE,'dead_bytes','-'..(match(place,'^d.|(%d+)|') or '0'))
      if left<=0 then call('HDEL',STATE,'dead_bytes') end
    end
  end
  free_unique(id,unique)
end
local function drop_oldest(ids) for _,id in ipairs(ids) do remove(id,'') end end
local function trim_dead(ms)
  drop_oldest(call('ZRANGEBYSCORE',DEAD,'-inf','('..int(ms-DEAD_MS),'LIMIT','0','20'))
end
local function bury(id,value,death,reason,ms)
  local _,_,_,_,_,unique=header(value)
  local bytes=#value+call('HSTRLEN',BODIES,id)+call('HSTRLEN',TRIES,id)
  call('HDEL',OWN,id); call('HDEL',CANCELS,id)
  local digest=free_unique(id,unique or '')                -- kept, for a retry takes the key again
  call('HSET',PLACES,id,'d'..death..'|'..int(bytes)..'|'..digest..'|'..reason)
  call('ZADD',DEAD,int(ms),id)
  local total=call('HINCRBY',STATE,'dead_bytes',int(bytes))
  tell(id,'b'..death)
  local over=math.min(call('ZCARD',DEAD)-DEAD_KEPT,20)
  if over>0 then drop_oldest(call('ZRANGE',DEAD,'0',int(over-1))) end
  if total>DEAD_BYTES then
    for _=1,20 do
      if tonumber(call('HGET',STATE,'dead_bytes') or '0')<=DEAD_BYTES then break end
      drop_oldest(call('ZRANGE',DEAD,'0','0'))
    end
  end
end
-- one record of what no worker reports: kind|id|token|strikes|number|fence|locks|task
local function record(line)
  if quiet then return end
  local no=call('HGET',STATE,'no')
  if not no then
    local last=call('XREVRANGE',P..'attempts','+','-','COUNT','1')[1]
    no=last and match(last[1],'^%d+') or '0'
  end
  no=tonumber(no)+1
  call('XADD',P..'attempts','MINID','~',int(math.max(0,no-10000)),int(no),'e',line)
  call('HSET',STATE,'no',int(no))
end
