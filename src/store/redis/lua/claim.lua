-- Purpose: take ready jobs: candidates are read and judged first, then written; a list is trimmed last. Fragment.
-- KEYS: -
-- ARGV: as parameters, see turn.lua
-- Returns: claim(want,queues,side,handed,ms,us,last,token,lease,ttl,suspects,out,only) -> number claimed, their ids in one string, notes in one string,
--   fence, more ('0' no, '1' yes, '2' not looked, '3' only struck suspects); their values are put into `out` from 5 on. A note
--   is `index kind value` a line: W waited ms, B busy key, G gave up after ms, F foreign key, X expired, T tries, A alone; index 0: P id, put off at its last strike.
-- Cost: a list: LRANGE, HMGET jobs, HMGET owners, EXISTS of its locks, LTRIM; a claim: ZADD, HSET, HSET; its locks: HSET, PEXPIRE, then COPY for each.
-- Most jobs have no past and at most one lock, that nobody waits for: they take a short way, where a table write or a string less a job can be seen.
-- Called by: turn
-- whether it is this job's turn for one of its locks: it then takes every other that is free, also one offered to another, or two jobs
-- with a turn each for what both need would pass their turns round for ever
local function has_turn(id,ls)
  if not rare.next and not rare.checks then return false end
  for key in string.gmatch(ls,'[^,]+') do
    local w=match(call('HGET',NEXT,key) or '','^%d+|%d+|(.*)$')
    if w then
      local _,_,_,other=R().split_where(w)
      if other==id then return true end
    end
  end
  return false
end
local OVER_MAX=16                                        -- more struck suspects than these go to the tail
local function claim(n,queues,side,handed,ms,us,last,token,lease,ttl,suspects,out,only)
  local ids,notes,own,k={},{},{},0
  local seen,got={},nil                                  -- got: ids claimed here, once somebody has to ask
  local lock_keys,nl={},0
  local trims,ntrims={},0
  -- a small turn would feel each table that it makes and does not use. left: how many handed ones no longer wait for a key
  local parks,tails,fronts,moved,marks,nexts,passed,gave,left
  local function know()                                 -- what the short way took, without twins of one id
    got={}
    local j=0
    for i=1,k do
      local id=ids[i]
      if not got[id] then
        got[id]=true; j=j+1
        ids[j]=id; own[j+j-1]=id; out[4+j]=out[4+i]
      end
    end
    for i=j+1,k do ids[i]=nil; own[i+i-1]=nil; own[i+i]=nil; out[4+i]=nil end
    k=j
  end
  local function moves(hand,id)
    moved=moved or {}; left=left or {}
    moved[#moved+1]={hand.key,hand.where,id}
    left[hand.key]=(left[hand.key] or 0)+1
  end
  local put_off,behind=nil,0                             -- the first at its last strike that was not taken; how many struck ones were sent to the tail
  local alone,struck_taken,full,unlooked,judged,skipped=false,false,false,false,0,0
  for _,queue in ipairs(queues) do
    if alone then unlooked=true; break end
    if k>=n then full=true; break end
    if not (rare.paused and call('SISMEMBER',PAUSED,queue)==1) then for prio=0,2 do
      local want=n-k
      if want<=0 or alone then break end
      local list=P..'queue:'..queue..':'..prio
      local hl=handed[list]
      local from=(prio==1 or side or hl) and (not only or only==list) and 0 or nil -- where in the list to look; behind what was looked at when struck ones are in front
      local over=0                                       -- how many struck ones this claim steps over: they stay in front
      while from do
      local hn=hl and math.min(#hl,want) or 0
      local cand=hn<want and call('LRANGE',list,int(from),int(from+want-hn-1)) or {}
      local cn,over_before=#cand,over
      local tot=hn+cn
      if tot>0 then
        local cid,cls,names,nn,many=cand,nil,nil,0,nil
        if hn==0 then for i=1,cn do if #cand[i]~=L then cid=nil; break end end else cid=nil end
        if not cid then                                  -- else all entries are bare ids
          cid,cls,names={},{},{}
          for i=1,tot do
            local e
            if i<=hn then e=hl[i].entry else e=cand[i-hn] end
            if #e==L then cid[i]=e else
              cid[i]=sub(e,1,L)
              local ls=sub(e,L+2)
              cls[i]=ls
              if find(ls,',',1,true) then
                many=many or {}; many[i]=true
                for key in string.gmatch(ls,'[^,]+') do nn=nn+1; names[nn]=P..'lock:'..key end
              else nn=nn+1; names[nn]=P..'lock:'..ls end
            end
          end
        end
        local body=call('HMGET',JOBS,unpack(cid))
        local act=call('HMGET',OWN,unpack(cid))
        local place=rare.places and cn>0 and call('HMGET',PLACES,unpack(cid))
        local tries=rare.tries and call('HMGET',TRIES,unpack(cid))
        local free_all=nn==0 or (cn==0 and nn==hn) or call('EXISTS',unpack(names))==0   -- a handed lock is known to be absent
        local head='1|'..queue..'|'..prio..'|'
        local bare,after=head..'|',#head+1
        local used=0
        local plain=hn==0 and not place and not tries
        local usual,tail=false,'|'                       -- how a header goes on after the lock: as that of the first did, mostly
        local short=plain and free_all and not rare.checks and not rare.waits -- nobody waits for a lock either, or has given up
        for i=1,tot do
          if alone then break end
          used=i
          local id,ls,value=cid[i],cls and cls[i],body[i]
          if plain and value and not act[i] and not (got and got[id]) and (not ls and find(value,bare,1,true)==1 or short and ls
            and not (many and many[i]) and not seen[ls] and find(value,ls..tail,after,true)==after and find(value,head,1,true)==1 and (usual or find(value,'||\n',1,true))) then
            judged=judged+1; k=k+1                       -- no past, not next of anything, at most one lock, free
            ids[k]=id; out[4+k]=value; own[k+k-1]=id; own[k+k]=token
            if ls then
              seen[ls]=true; nl=nl+1
              lock_keys[nl]=nn==tot and names[i] or P..'lock:'..ls
              if not usual then usual=true; tail=match(value,'^[^\n]*\n',#head+#ls+1) end
            end
            if got then got[id]=true end
          else
          if not got then know() end
          local hand=i<=hn and hl[i] or nil
          local take=value and not act[i] and not got[id] and (hand or not (place and place[i]))
          if take then
            local pre=ls and '1|'..queue..'|'..prio..'|'..ls..'|' or bare
            if sub(value,1,#pre)~=pre then
              local q2,p2,l2=R().header(value)
              if q2==queue and tonumber(p2)==prio then   -- an entry with other locks: the header decides
                ls=l2~='' and l2 or nil; free_all=false
              elseif q2 then                             -- of another list
                tails=tails or {}; tails[#tails+1]={P..'queue:'..q2..':'..p2,R().entry_of(id,l2),q2}; take=false
              else ls=nil end                            -- unreadable: delivered alone, to be buried
            end
          end
          local gave_up=take and ls and rare.waits and match(call('ZSCORE',WAITS,id) or '','^%-(%d+)')
          local expired
          if take and ls and not find(value,'||\n',1,true) then
            local at=match(value,'^1|[^|]*|[012]|[^|\n]*|[^|\n]*|%d*|[^|\n]*|%d+|(%d+)|')
            expired=at and tonumber(at)<=ms              -- it needs no lock to be buried
          end
          local t=take and tries and tries[i] and R().tries_read(tries[i])
          local mark,lastly,struck
          if t and t.mark~='' then
            local _,_,_,_,_,_,limit=R().header(value)
            lastly=t.strikes+1>=tonumber(limit or '1')
            struck=lastly or t.strikes>0
            if struck and (suspects=='0' or struck_taken or (lastly and (suspects~='2' or k>0))) then
              take=false; skipped=skipped+1; got[id]=true
              if lastly and not put_off then put_off=id end
              if over<OVER_MAX then
                over=over+1
                if not hand then fronts=fronts or {}; fronts[#fronts+1]={list,cand[i-hn]} end       -- a handed one becomes next below
              elseif not hand then tails=tails or {}; behind=behind+1; tails[#tails+1]={list,cand[i-hn],queue,true} end
            else mark=lastly and 'A' or 'S' end
          end
          judged=judged+1
          if take then
            local busy,foreign,since=nil,nil,hand and hand.since
            local mine
            if ls and not gave_up and not expired then
              mine={}
              for key in string.gmatch(ls,'[^,]+') do
                local offered=hand and hand.key==key
                local met=seen[key]                      -- true: taken by this claim, 'p': another parked behind it here
                if met==true then busy=key
                elseif not free_all then
                  local ty=call('TYPE',P..'lock:'..key).ok
                  if ty=='hash' then busy=key elseif ty~='none' then foreign=key end
                end
                if not offered and not busy and not foreign and rare.checks and call('ZSCORE',LC,key) then
                  local row=call('HGET',NEXT,key)
                  if row then
                    local s,w=match(row,'^%d+|(%d+)|(.*)$')
                    local _,_,_,other=R().split_where(w)
                    if other==id then nexts=nexts or {}; nexts[#nexts+1]={key,k+1,id}; since=s
                    elseif not (hand or has_turn(id,ls)) then busy=key end
                  elseif (met or call('LLEN',P..'parked:'..key)>(left and left[key] or 0)) and not (hand or has_turn(id,ls)) then busy=key end
                elseif met and not offered and not busy and not foreign and not (hand or has_turn(id,ls)) then busy=key end
                if busy or foreign then break end
                mine[#mine+1]=key
              end
            end
            local on_busy,wait
            if busy then on_busy,wait=match(value,'^1|[^|]*|[012]|[^|\n]*|([^|\n]*)|(%d*)|') end
            local without=busy or foreign or expired     -- its turns pass on
            if without and hand then passed=passed or {}; passed[#passed+1]=hand.key
            elseif without and ls and rare.next then
              for key in string.gmatch(ls,'[^,]+') do
                local s,w=match(call('HGET',NEXT,key) or '','^%d+|(%d+)|(.*)$')
                if s then
                  local _,_,_,other=R().split_where(w)
                  if other==id then call('HDEL',NEXT,key); passed=passed or {}; passed[#passed+1]=key; since=since or s end
                end
              end
              if nexts then for j=#nexts,1,-1 do if nexts[j][3]==id then table.remove(nexts,j) end end end
            end
            if busy and (on_busy=='w' or since) then
              local w={prio..queue..'|'..id..'|'..ls,id,since or int(ms),wait or '',since~=nil}
              parks=parks or {}; parks[busy]=parks[busy] or {}
              table.insert(parks[busy],w); seen[busy]=seen[busy] or 'p'; got[id]=true
              if hand then hand.gone=true; moves(hand) end
            else
              k=k+1
              ids[k]=id; out[4+k]=value; own[k+k-1]=id; own[k+k]=token; got[id]=true
              if expired then notes[#notes+1]=k..' X '..''..'\n' end
              if gave_up then gave=gave or {}; gave[#gave+1]=id; notes[#notes+1]=k..' G '..int(ms-tonumber(gave_up))..'\n'
              elseif expired then
              elseif busy then notes[#notes+1]=k..' B '..busy..'\n'
              elseif foreign then notes[#notes+1]=k..' F '..foreign..'\n'
              else
                if since then notes[#notes+1]=k..' W '..int(ms-tonumber(since))..'\n' end
                if mine then for _,key in ipairs(mine) do nl=nl+1; lock_keys[nl]=P..'lock:'..key; seen[key]=true end end
              end
              if t then notes[#notes+1]=k..' T '..int(t.charged)..','..int(t.strikes)..','..(mark and 1 or 0)..','..int(t.mismatches)..','..int(t.mismatches>0 and ms-t.since or 0)..'\n' end
              if mark then
                t.mark=mark; marks=marks or {}; marks[#marks+1]={id,t}; struck_taken=struck_taken or struck
                if lastly then alone=true; notes[#notes+1]=k..' A '..''..'\n' end
              end
              if hand then hand.gone=true; moves(hand,id) end
            end
          end
          end
        end
        if used>hn then
          if from==0 then ntrims=ntrims+2; trims[ntrims-1]=list end
          trims[ntrims]=from+used-hn
        end
      end
      local stepped=over-over_before
      if alone then unlooked=true; from=nil
      elseif stepped>0 and tot==want then from=from+cn; want=stepped; hl=nil
      else
        if hn==want then unlooked=true elseif tot==want then full=true end
        from=nil
      end
      end
    end end
  end
  -- now the writes: the lease first, then owners and locks, then what moves; the lists last
  local fence,all,said=0,'',table.concat(notes)
  if k>0 then
    fence=math.max(last+1,us)
    fence=fence-fence%100+100                           -- so that a claim's fences differ in the last two digits only
    call('ZADD',ACTIVE,int(ms+tonumber(lease)),token)
    all=table.concat(ids)
    call('HSET',CLAIMS,token,lease..'|'..int(fence)..'|'..all..'\n'..said)
    if call('HSET',OWN,unpack(own))<k and not got then   -- twins, and all took the short way
      know()
      all=table.concat(ids)
      call('HSET',CLAIMS,token,lease..'|'..int(fence)..'|'..all..'\n')
    end
    local lock=lock_keys[1]
    if lock then
      call('HSET',lock,token,int(fence))
      call('PEXPIRE',lock,ttl)
    end
    for i=2,nl do call('COPY',lock,lock_keys[i]) end     -- with its TTL: one command instead of two; see claim_of.lua
    if marks then for _,m in ipairs(marks) do R().tries_write(m[1],m[2]) end end
    if gave then call('ZREM',WAITS,unpack(gave)) end
  end
  if parks then for key,l in pairs(parks) do
    local pk=P..'parked:'..key
    for _,w in ipairs(l) do
      call('HSET',PLACES,w[2],'p'..w[3]..'|'..key)
      if w[4]~='' then call('ZADD',WAITS,int(tonumber(w[3])+tonumber(w[4])),w[2]) end
      if w[5] then call('LPUSH',pk,w[1]) else call('RPUSH',pk,w[1]) end
    end
    if not call('ZSCORE',LC,key) then
      -- a look sees soon whether the holder is one of ours, who tell when they unlock
      call('ZADD',LC,int(ms+math.min(math.max(call('PTTL',P..'lock:'..key),0),500)+1),key)
    end
  end end
  if moved then for _,m in ipairs(moved) do
    call('LREM',P..'parked:'..m[1],'1',m[2])
    if m[3] then call('HDEL',PLACES,m[3]); if rare.waits then call('ZREM',WAITS,m[3]) end end
    if call('EXISTS',P..'parked:'..m[1])==0 and not (rare.next and call('HEXISTS',NEXT,m[1])==1) then call('ZREM',LC,m[1]) end
  end end
  if nexts then for _,x in ipairs(nexts) do call('HDEL',NEXT,x[1]); R().settle_checks(x[1]) end end
  if tails then for _,t in ipairs(tails) do
    call('RPUSH',t[1],t[2])
    if not t[4] then R().arm(t[3]) end
  end end
  for i=1,ntrims,2 do call('LTRIM',trims[i],int(trims[i+1]),'-1') end
  if fronts then for i=#fronts,1,-1 do call('LPUSH',fronts[i][1],fronts[i][2]) end end
  -- freed waiters that this claim did not take: next, at the head of their own queues
  for _,hl in pairs(handed) do for j=#hl,1,-1 do
    local h=hl[j]
    if not h.gone then R().offer(h.key,h.where,ms) end
  end end
  if passed then for _,key in ipairs(passed) do R().free_and_offer(key,ms) end end
  local more='0'
  if n==0 then more='2'
  elseif skipped>0 and (not full or (k==0 and skipped==judged)) then more='3'
  elseif full or tails and #tails>behind or passed then more='1'
  elseif unlooked then more='2' end
  if put_off then said=said..'0 P '..put_off..'\n' end
  return k,all,said,fence,more
end
