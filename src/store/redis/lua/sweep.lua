-- Purpose: a piece of the slow sweep: rows that belong to nothing go, jobs that are in no list go back to their queue. Fragment.
-- No script leaves such rows behind: this is for what lost writes, evictions and hands do. What it mended is counted as `swept`.
-- KEYS: -
-- ARGV: -
-- Returns: sweep(ms,row): row is the field `sweep` of state, "due ms|cursor|which rows"; due 0 while it goes on at the next look
-- Cost: scans of about 100 rows, and up to 5 commands a row; for jobs also a read of each list met, unless it is longer than LIST_MAX
-- Called by: look
local SWEEP_MS,ROWS,LIST_MAX=600000,100,2000
-- whether an entry of the job is in a list; a list too long to be searched counts as having it
local function is_listed(lists,key,id,parked)
  if lists[key]==nil then
    lists[key]=true
    if call('LLEN',key)<=LIST_MAX then
      local ids={}
      for _,entry in ipairs(call('LRANGE',key,'0','-1')) do
        local _,waiter
        if parked then _,_,_,waiter=split_where(entry) end
        ids[waiter or sub(entry,1,L)]=true
      end
      lists[key]=ids
    end
  end
  return lists[key]==true or lists[key][id]
end
local function sweep_job(id,value,ms,lists)
  local queue,prio,locks=header(value)
  if not queue or call('HEXISTS',OWN,id)==1 then return 0 end
  local place=call('HGET',PLACES,id)
  if not place then
    if is_listed(lists,list_of(queue,prio),id) then return 0 end
  elseif place=='s' then
    if call('ZSCORE',SCHED,where_of(id,queue,prio,locks)) then return 0 end
  elseif sub(place,1,1)=='d' then
    return call('ZSCORE',DEAD,id) and 0 or call('ZADD',DEAD,int(ms),id)
  else
    local key=match(place,'^p%d+|(.*)$')
    if key and is_listed(lists,P..'parked:'..key,id,true) then
      -- without it no look would hand the lock over
      return call('ZSCORE',LC,key) and 0 or call('ZADD',LC,int(ms),key)
    end
    call('ZREM',WAITS,id)
  end
  call('RPUSH',list_of(queue,prio),entry_of(id,locks))
  call('HDEL',PLACES,id)
  arm(queue)
  return 1
end
local function sweep_owner(id,token,ms)
  if #id~=L or call('HEXISTS',CLAIMS,token)==1 then return 0 end
  local value=call('HGET',JOBS,id)
  local _,_,locks=header(value or '')
  back(id,value,ms)
  free_held({locks},token,ms)
  return 1
end
-- a claim that nobody could renew or reap: its worker, if it lives, has one lease to renew it
local function sweep_claim(token,row,ms)
  if call('ZSCORE',ACTIVE,token) then return 0 end
  return call('ZADD',ACTIVE,int(ms+(tonumber(match(row,'^%d+')) or 0)),token)
end
local function sweep_place(id)
  if call('HEXISTS',JOBS,id)==1 then return 0 end
  remove(id,'')
  return 1
end
local function of_no_job(key,command)
  return function(id) return call('HEXISTS',JOBS,id)==1 and 0 or call(command,key,id) end
end
local SWEPT={
  {'HSCAN',CLAIMS,sweep_claim},
  {'ZSCAN',ACTIVE,function(token) return call('HEXISTS',CLAIMS,token)==1 and 0 or call('ZREM',ACTIVE,token) end},
  {'HSCAN',OWN,sweep_owner},
  {'HSCAN',JOBS,sweep_job},
  {'HSCAN',PLACES,sweep_place},
  {'HSCAN',BODIES,of_no_job(BODIES,'HDEL')},
  {'HSCAN',TRIES,of_no_job(TRIES,'HDEL')},
  {'HSCAN',CANCELS,of_no_job(CANCELS,'HDEL')},
  {'HSCAN',WATCHED,of_no_job(WATCHED,'HDEL')},
  {'ZSCAN',WAITS,of_no_job(WAITS,'ZREM')},
}
local function sweep(ms,row)
  local due,cursor,which=match(row or '','^(%d+)|(%d+)|?(%d*)$')
  due,cursor,which=tonumber(due or '0'),cursor or '0',tonumber(which) or 1
  if due>ms and due<=ms+SWEEP_MS then return end
  local lists,swept,seen={},0,0
  while SWEPT[which] and seen<ROWS do
    local scan,key,each=unpack(SWEPT[which])
    local piece=redis.pcall(scan,key,cursor,'COUNT',ROWS)
    local rows=piece[2] or {}
    cursor=piece[1] or '0'
    seen=seen+#rows/2
    for i=1,#rows,2 do swept=swept+each(rows[i],rows[i+1],ms,lists) end
    if cursor=='0' then which=which+1 end
  end
  if SWEPT[which] then call('HSET',STATE,'sweep','0|'..cursor..'|'..which)
  else call('HSET',STATE,'sweep',int(ms+SWEEP_MS)..'|0') end
  if swept>0 then
    local minute=P..'stats:'..int(math.floor(ms/60000))
    call('HINCRBY',minute,'swept',int(swept))
    call('PEXPIRE',minute,'86400000')
  end
end
