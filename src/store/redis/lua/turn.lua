-- Purpose: a worker's turn: settle what ended, free its locks, look when the fleet's last look is old, claim.
-- KEYS: 1 prefix
-- ARGV: 1 lane field 2 number 3 "<number-1>|" 4 resend (0/1) 5 token 6 want 7 lease+grace ms 8 lock ttl ms 9 queues, by `,` 10 queues whose mark
--   it took 11 struck suspects it may claim (0 none, 1 one, 2 one alone, or the id of the only job it may claim) 12 attempts blob or '' 13 attempts kept, 0 for no log 14 c 15 a letter a verdict, '' when all
--   are done 16 runs "token=count," in the order of the settles 17 locks (0 none, 1 at most one a job, 2 several) 18 nested holds "index=token=key\n" 19 uniques "index=key\n"
--   20 counts "name=n," 21 finished claims, by `,` 22 a look is wanted (0/1) 23 locks kept "index=ms,"; then ids[c], lock specs[c] unless 17 is 0, an extra for each verdict not done
-- Returns: {"fence|more|ms|replay|why effects were refused", accept digits ('' = all), ids in one string, notes, values...}; {"STALE"}, {"LANE_LOST"}, {"EARLY"}
-- Cost: about 14 commands and, a job, the parts of settle and claim; at most 100 settles, 100 claims, 200 promotions
-- Called by: RedisStore::turn
local c,want,number=tonumber(A[14]),tonumber(A[6]),tonumber(A[2])
quiet=A[13]=='0'
local st=call('HMGET',STATE,'fence','looked',A[1],'no','sweep')
local lane=st[3]
if lane then
  if sub(lane,1,#A[3])~=A[3] then
    local at=tonumber(match(lane,'^%d+') or '0')
    if number==at then return replay_turn(lane,A[5]) end
    if number<at then return {'STALE'} end
    return {'LANE_LOST'}
  end
elseif number>1 or A[4]=='1' then return {'LANE_LOST'} end
local ms,us=now()
local looked=tonumber(st[2] or '0') or 0
local looking=ms-looked>=500 or looked>ms
if A[22]=='1' and not looking and A[21]=='' then return {'EARLY'} end
if c==0 then call('HDEL',STATE,'-') end                 -- a first write that a full server allows; with settles settle.lua sees to it
local queues=A[9]~='' and {A[9]} or {}
if find(A[9],',',1,true) then
  queues={}
  for queue in string.gmatch(A[9],'[^,]+') do queues[#queues+1]=queue end
end
-- one look for all that is rare, high and low priorities among it
local some
if #queues==1 then
  local list=P..'queue:'..A[9]
  some=call('EXISTS',LC,PLACES,NEXT,BODIES,CANCELS,TRIES,WATCHED,PAUSED,WAITS,list..':0',list..':2')
else
  local ask={LC,PLACES,NEXT,BODIES,CANCELS,TRIES,WATCHED,PAUSED,WAITS}
  for _,queue in ipairs(queues) do
    ask[#ask+1]=P..'queue:'..queue..':0'
    ask[#ask+1]=P..'queue:'..queue..':2'
  end
  some=call('EXISTS',unpack(ask))
end
local side=false
rare={}
if some>0 then
  local common=call('EXISTS',LC,PLACES)
  if common==2 then rare.checks=true; rare.places=true
  elseif common==1 then
    rare.checks=call('EXISTS',LC)==1
    rare.places=not rare.checks
  end
  if some>common then
    side=true
    rare.next=call('EXISTS',NEXT)==1
    rare.bodies=call('EXISTS',BODIES)==1
    rare.cancels=call('EXISTS',CANCELS)==1
    rare.tries=call('EXISTS',TRIES)==1
    rare.watched=call('EXISTS',WATCHED)==1
    rare.paused=call('EXISTS',PAUSED)==1
    rare.waits=call('EXISTS',WAITS)==1
  end
end
local handed={}
local function freed(key)
  if rare.next and call('HEXISTS',NEXT,key)==1 then return end
  if looking then                                       -- the look below must not offer it a second time
    if call('ZSCORE',LC,key) then R().free_and_offer(key,ms) end
    return
  end
  local first=call('LINDEX',P..'parked:'..key,'0')
  if not first then return end
  -- the plain case without the functions of R: a live first waiter, its queue not paused
  local prio,queue,entry=match(first,'^([012])([%w_.-]+)|(.*)$')
  local where,id=first,sub(entry or '',1,L)
  local place=call('HGET',PLACES,id)
  if rare.paused or not place or sub(place,1,1)~='p' or match(place,'|(.*)$')~=key then
    where,place=R().free(key,ms,first)
    if not where then return end
    prio,queue,entry=match(where,'^(%d)([^|]*)|(.*)$')
    id=sub(entry,1,L)
  elseif call('EXISTS',P..'lock:'..key)==1 then return end
  local list=P..'queue:'..queue..':'..prio
  handed[list]=handed[list] or {}
  for _,h in ipairs(handed[list]) do if h.key==key then return end end
  table.insert(handed[list],1,{key=key,where=where,entry=entry,id=id,since=match(place,'^p(%d+)') or int(ms)})
end
local bits,whys,nos='','',nil
if c>0 then
  bits,whys=settle(23,c,A[15],A[16],A[17],A[18],A[19],A[23],ms,freed)
  if A[12]~='' then
    local no=tonumber(st[4] or '')
    if not no then
      local last=call('XREVRANGE',P..'attempts','+','-','COUNT','1')[1]
      no=last and match(last[1],'^%d+') or '0'
    end
    no=tonumber(no)+c
    nos=int(no)
    if bits=='' then call('XADD',P..'attempts','MINID','~',int(math.max(0,no-A[13])),nos,'b',A[12])
    else call('XADD',P..'attempts','MINID','~',int(math.max(0,no-A[13])),nos,'b',A[12],'a',bits,'r',whys) end
  end
end
if A[21]~='' then
  local f,i={},0
  for token in string.gmatch(A[21],'[^,]+') do i=i+1; f[i]=token end
  call('ZREM',ACTIVE,unpack(f))
  call('HDEL',CLAIMS,unpack(f))
end
local again,any=false,false
if looking then
  if nos then call('HSET',STATE,'no',nos); nos=nil end  -- the look records too
  again,any=R().look(ms,queues,st[5])
  rare={checks=true,places=true,next=true,paused=true,waits=true,tries=true}   -- it may have written some
end
if A[15]~='' or bits~='' then                           -- this turn may have put something there
  side=true; rare.places=true; rare.tries=true
end
side=side or looking
local suspects,only=A[11],nil
if #suspects>1 then                                     -- an id: this job, at its last strike, or none
  for _,hl in pairs(handed) do for j=#hl,1,-1 do R().offer(hl[j].key,hl[j].where,ms) end end
  handed={}; rare.next=true; rare.checks=true
  only=want>0 and R().lone(suspects,queues) or ''
  want=math.min(want,1); suspects='2'; side=true; rare.tries=true
end
local out={'','','',''}
local k,all,notes,fence,more=claim(looking and not any and 0 or want,queues,side,handed,ms,us,math.max(tonumber(st[1] or '0') or 0,lib and lib.last_granted() or 0),A[5],A[7],A[8],suspects,out,only)
if only then more='2' elseif want==0 and any then more='1' end
if looking and not any and not only then more='0' end                -- the look has seen that there is nothing
if A[10]~='' and more~='0' and more~='3' then
  for queue in string.gmatch(A[10],'[^,]+') do
    local l=P..'queue:'..queue..':'
    if call('EXISTS',l..'0',l..'1',l..'2')>0 then R().arm(queue) end
  end
end
if A[20]~='' then
  local minute=P..'stats:'..int(math.floor(ms/60000))
  for name,n in string.gmatch(A[20],'([^=,]+)=(%d+),') do call('HINCRBY',minute,name,n) end
  call('PEXPIRE',minute,'86400000')
end
local set={A[1],A[2]..'|'..bits..'|'..more}
if k>0 then set[3]='fence'; set[4]=int(math.max(fence+k-1,lib and lib.last_granted() or 0)) end
if nos then set[#set+1]='no'; set[#set+1]=nos end
if looking then set[#set+1]='looked'; set[#set+1]=again and '0' or int(ms) end
call('HSET',STATE,unpack(set))
out[1]=int(fence)..'|'..more..'|'..int(ms)..'|0|'..whys
out[2],out[3],out[4]=bits,all,notes
return out
