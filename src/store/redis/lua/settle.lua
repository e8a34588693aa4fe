-- Purpose: ended attempts: checks first, then writes; the verdicts of the state table. Fragment.
-- KEYS: -
-- ARGV: read through settle's parameters, see turn.lua; locks: '0' none, '1' one a job or none, '2' several too
-- Returns: settle(base,...) -> a digit a settle, '' when all are accepted: 0 lost, 1 accepted, refused for its effects and then 2 scheduled or 3 dead, 4 broken half way
--   and dead; and why, "index=reason\n"; calls freed(key) for each lock that it released
-- kept: locks that stay, "index=ms,": only when the settle is accepted, which is asked before anything is written for them
-- The first write is one that a full server allows: HDEL.
-- Cost: 1 HMGET, 1 HDEL a lock key (a kept one: HGET, HEXISTS, HSET, PEXPIRE, ZSCORE), 2 variadic HDEL for the done ones; up to 15 commands for any other verdict
-- Called by: turn, surrender
local function settle(at,c,codes,runs,locks,nested,uniques,kept,ms,freed)
  local ids=at
  local lk=at+c
  local ex=locks=='0' and lk or lk+c                     -- extras follow, one for each verdict other than done
  local own=call('HMGET',OWN,unpack(A,ids+1,ids+c))
  local lost,nlost,i=nil,0,0
  local loose={}                                         -- freed after all jobs are back: a waiter stands before them
  local checks=rare.checks
  if codes~='' then call('HDEL',STATE,'-') end           -- likewise
  local stay
  if kept~='' then
    stay={}
    for j,time in string.gmatch(kept,'(%d+)=(%d+),') do stay[tonumber(j)]=time end
  end
  local nest
  if nested~='' then
    nest={}
    for j,tok,key in string.gmatch(nested,'(%d+)=([^=]*)=([^\n]*)\n') do
      j=tonumber(j); nest[j]=nest[j] or {}; nest[j][#nest[j]+1]={key,tok}
    end
  end
  for tok,cnt in string.gmatch(runs,'([^=]+)=(%d+),') do
    for _=1,tonumber(cnt) do
      i=i+1
      local good=own[i]==tok
      if locks~='0' then
        local ls=A[lk+i]
        if ls~='' then
          local time=stay and stay[i]
          if time and own[i]==tok then
            for key in string.gmatch(ls,'[^,]+') do good=good and holds(key,tok) end
          end
          if time and own[i]~=tok then                    -- settled before: what it kept then stays
          elseif time and good then
            local fence=R().fence_of(tok,A[ids+i])        -- its claim's row goes before it
            for key in string.gmatch(ls,'[^,]+') do
              if fence then call('HSET',P..'lock:'..key,tok,fence) end
              keep(key,tok,time,ms)
            end
          elseif locks=='1' or not find(ls,',',1,true) then
            if not unlock(ls,tok) then good=false end
            if checks then loose[#loose+1]=ls end
          else
            for key in string.gmatch(ls,'[^,]+') do
              if not unlock(key,tok) then good=false end
              if checks then loose[#loose+1]=key end
            end
          end
        end
      end
      if nest and nest[i] then
        for _,h in ipairs(nest[i]) do
          if not unlock(h[1],h[2]) then good=false end
          if checks then loose[#loose+1]=h[1] end
        end
      end
      if not good then
        nlost=nlost+1
        if nlost==1 then call('HDEL',STATE,'-'); lost={} end -- a first write that a full server allows
        lost[i]=true
        local id=A[ids+i]
        if own[i]==tok then
          lost[i]='back'                                 -- a lock was lost: the job runs again, in its order below
        elseif rare.tries then
          local row=call('HGET',TRIES,id)
          local t=row and R().tries_read(row)
          if t and (t.by==tok or t.by==tok..'+') then    -- its worker came back: the job did not end it
            if t.by~=tok then t.strikes=math.max(0,t.strikes-1) end
            t.by=''; t.mark=''
            R().tries_write(id,t)
          end
        end
      end
    end
  end
  local said,whys                                        -- of refused effects
  if nlost==0 and codes=='' then
    call('HDEL',OWN,unpack(A,ids+1,ids+c))
    call('HDEL',JOBS,unpack(A,ids+1,ids+c))
    if rare.bodies then call('HDEL',BODIES,unpack(A,ids+1,ids+c)) end
    if rare.cancels then call('HDEL',CANCELS,unpack(A,ids+1,ids+c)) end
    if rare.tries then call('HDEL',TRIES,unpack(A,ids+1,ids+c)) end
    if rare.watched then for j=1,c do R().tell(A[ids+j],'d') end end
  else
    local x,done=ex,{}
    for j=1,c do
      local id,code=A[ids+j],codes=='' and 'd' or sub(codes,j,j)
      local extra=''
      if code~='d' then x=x+1; extra=A[x] end
      local late=lost and lost[j]
      if late=='back' then R().back(id,call('HGET',JOBS,id),ms)
      elseif not late then
        if code=='e' then
          -- one plain effect comes as text, which is quicker to read
          local n,verb,key,a,b,back=match(extra,'^([234])\1([^\1]*)\1([^\1]*)\1([^\1]*)\1([^\1]*)\1(.*)$')
          local r,packed,why,some
          if n=='3' then r=redis.pcall(verb,key,a) elseif n=='4' then r=redis.pcall(verb,key,a,b) elseif n then r=redis.pcall(verb,key) end
          if not n then packed=cmsgpack.unpack(extra)
          elseif type(r)=='table' and r.err then packed={back,{{verb,key,n~='2' and a or nil,n=='4' and b or nil}},'','',''} end
          if packed then why,some=R().ride(packed,id,ms) end
          if not why then code='d'
          else
            said=said or {}; whys=whys or {}
            whys[#whys+1]=int(j)..'='..why
            if some then code='b'; extra='u|1|its effects stopped half way: '..why; said[j]='4'
            else
              code=sub(packed[1],1,1); extra=sub(packed[1],2)..why
              said[j]=code=='b' and '3' or '2'
            end
          end
        end
        local value=code~='d' and call('HGET',JOBS,id)
        if code=='d' or not value then
          done[#done+1]=id
          if rare.watched then R().tell(id,'d') end
        else
          local t=R().tries_read(call('HGET',TRIES,id))
          t.strikes=0; t.mark=''; t.by=''
          if code=='s' or code=='b' then
            local a,charge,text=match(extra,'^([^|]*)|([012])|(.*)$')
            if charge=='1' then t.charged=t.charged+1 end
            if charge=='2' then
              t.mismatches=t.mismatches+1
              if t.mismatches==1 then t.since=ms end
            else t.mismatches=0; t.since=0 end
            if code=='s' then R().add_error(t,text) end
            R().tries_write(id,t)
            if not R().requested(id,value,ms) then
              local queue,prio,locks=R().header(value)
              if code=='b' or not queue then
                R().bury(id,value,code=='b' and a or 'u',code=='b' and text or 'the stored job cannot be read',ms)
              else
                call('ZADD',SCHED,int(ms+tonumber(a)),R().where_of(id,queue,prio,locks))
                call('HSET',PLACES,id,'s')
                call('HDEL',OWN,id)
              end
            end
          else
            R().tries_write(id,t)
            if code=='k' then
              value=string.gsub(value,'^(1|[^|\n]*|[012]|)[^|\n]*','%1'..string.gsub(extra,'%%','%%%%'),1)
              call('HSET',JOBS,id,value)
            end
            R().back(id,value,ms)
          end
        end
      end
    end
    if #done>0 then
      call('HDEL',OWN,unpack(done)); call('HDEL',JOBS,unpack(done))
      if rare.bodies then call('HDEL',BODIES,unpack(done)) end
      if rare.cancels then call('HDEL',CANCELS,unpack(done)) end
      if rare.tries then call('HDEL',TRIES,unpack(done)) end
    end
  end
  if uniques~='' then
    for j,key in string.gmatch(uniques,'(%d+)=([^\n]*)\n') do
      local n=tonumber(j)
      local ended=codes=='' or sub(codes,n,n)=='d' or sub(codes,n,n)=='e'
      if ended and not (lost and lost[n]) and not (said and said[n]) then R().free_unique(A[ids+n],key) end
    end
  end
  for _,key in ipairs(loose) do freed(key) end
  if nlost==0 and not said then return '','' end
  local ok={}
  for j=1,c do ok[j]=lost and lost[j] and '0' or said and said[j] or '1' end
  return table.concat(ok),whys and table.concat(whys,'\n') or ''
end
