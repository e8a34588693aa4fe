-- Purpose: a claim that nobody renewed: its jobs go back to the head of their queues as suspects. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: reap(ms) -> whether there are more
-- Cost: 2 + about 10 commands a job, at most 100 jobs
-- Called by: look
local function reap_one(token,ms)
  local row=call('HGET',CLAIMS,token)
  local fence,ids=match(row or '','^%d+|(%d+)|([^\n]*)')
  ids=ids or ''
  local n=math.floor(#ids/L)
  local loose={}
  for i=n,1,-1 do                                        -- backwards: each goes to the head
    local id=sub(ids,(i-1)*L+1,i*L)
    local owner,value=call('HGET',OWN,id),call('HGET',JOBS,id)
    if owner==token then
      local queue,_,locks,_,_,_,limit=header(value or '')
      local t=tries_read(call('HGET',TRIES,id))
      local marked,dead=value and call('HEXISTS',CANCELS,id)==1,false
      if not marked then t.by=token end                  -- a cancelled or deleted one is not suspected: it ends here
      if not marked and (t.mark=='S' or t.mark=='A') then
        local last=t.strikes+1>=tonumber(limit or '1')
        if not last then t.strikes=t.strikes+1; t.by=token..'+'
        elseif t.mark=='A' then t.strikes=t.strikes+1; dead=true end
      end
      if not marked or t.mark~='' then t.mark='s' end
      record('crashed|'..id..'|'..token..'|'..int(t.strikes)..'|'..int(t.charged+1)..'|'..int(tonumber(fence)+i-1)..'|'..(locks or '')
        ..'|'..(match(value or '','\n([^|\n]*)') or ''))
      if dead then t.mark=''; t.by='' end
      if value then tries_write(id,t) end
      if dead then bury(id,value,'k','ended its worker '..int(t.strikes)..' times, the last time alone',ms)
      else back(id,value,ms) end
      if queue then table.insert(loose,1,locks) end
    elseif value and not owner and call('HEXISTS',PLACES,id)==0 then
      back(id,value,ms)                                  -- claimed on paper only: an entry more does no harm
    end
  end
  free_held(loose,token,ms)
  call('HDEL',CLAIMS,token)
  call('ZREM',ACTIVE,token)
end
local function reap(ms)
  local lapsed=call('ZRANGEBYSCORE',ACTIVE,'-inf',int(ms),'LIMIT','0','2')
  if lapsed[1] then reap_one(lapsed[1],ms) end
  -- after a step of the server's clock: no deadline is further ahead than its own claim's lease and grace
  local far=call('ZREVRANGE',ACTIVE,'0','9','WITHSCORES')
  for i=1,#far,2 do
    local row=call('HGET',CLAIMS,far[i])
    local lease=row and tonumber(match(row,'^%d+')) or 0
    if tonumber(far[i+1])<=ms+lease then break end
    call('ZADD',ACTIVE,int(ms+lease),far[i])
  end
  return #lapsed==2
end
