-- Purpose: move the deadline of claims and of every lock that their attempts hold.
-- KEYS: 1 prefix
-- ARGV: 1 number of claims; then a claim: token, lease+grace ms, lock ttl ms, number of attempts; an attempt: id, lock spec, nested "token=key\n"..., progress
-- Returns: a letter an attempt, in order: R renewed, C renewed and asked to stop, L lost
-- Cost: 4 commands a claim, 2 an attempt, 3 for one that says how far it is, 2 a lock
-- Called by: RedisStore::renew
local ms=now()
call('HDEL',STATE,'-')
local at,said=1,{}
for _=1,tonumber(A[1]) do
  local token,lease,ttl,n=A[at+1],A[at+2],A[at+3],tonumber(A[at+4])
  at=at+4
  local deadline=call('ZSCORE',ACTIVE,token)
  local stands=deadline and tonumber(deadline)>ms
  local named,any={},false
  for _=1,n do
    local id,locks,nested,progress=A[at+1],A[at+2],A[at+3],A[at+4]
    at=at+4
    named[id]=true
    local good=stands and call('HGET',OWN,id)==token
    local hold={}
    for key in each_lock(locks) do hold[#hold+1]={P..'lock:'..key,token} end
    for tok,key in string.gmatch(nested,'([^=\n]*)=([^\n]*)\n') do hold[#hold+1]={P..'lock:'..key,tok} end
    for _,h in ipairs(hold) do
      if good and redis.pcall('HEXISTS',h[1],h[2])~=1 then good=false end
    end
    if good then
      any=true
      for _,h in ipairs(hold) do call('PEXPIRE',h[1],ttl) end
      if progress~='' then call('SET',P..'progress:'..id,token..'|'..progress,'PX',ttl) end
      said[#said+1]=call('HEXISTS',CANCELS,id)==1 and 'C' or 'R'
    else said[#said+1]='L' end
  end
  if stands then
    if any then call('ZADD',ACTIVE,'XX',int(ms+tonumber(lease)),token) end
    local row=call('HGET',CLAIMS,token)
    local ids=row and match(row,'^%d+|%d+|([^\n]*)') or ''
    local loose={}
    for i=math.floor(#ids/L),1,-1 do
      local id=sub(ids,(i-1)*L+1,i*L)
      if not named[id] and call('HGET',OWN,id)==token then
        local value=call('HGET',JOBS,id)
        local queue,_,locks=header(value or '')
        back(id,value,ms)
        if queue then table.insert(loose,1,locks) end
      end
    end
    free_held(loose,token,ms)
  end
end
return table.concat(said)
