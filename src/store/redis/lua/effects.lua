-- Purpose: effects on keys of the user's: checked as a whole, then all of it or none. Fragment.
-- An effect is the command it is. A demand is {'?',key,kind,value} or {'?h',key,field,kind,value}; kinds: '=' is, '-' absent, '+' present, '>' at least,
-- '<' at most. The checks walk through the effects with what each key would hold by then, so that none fails once writing has begun.
-- KEYS: -
-- ARGV: -
-- Returns: effects(list) -> nil when applied, else why not, and whether some were applied
-- Cost: one effect alone: that command; else beside the commands a read a key or field, and where the server has it a check of rights an effect
-- Called by: ride, apply
local WANT={INCRBY='string',HSET='hash',HDEL='hash',HINCRBY='hash',SADD='set',SREM='set',ZADD='zset',ZREM='zset',LPUSH='list',RPUSH='list',XADD='stream'}
local function why_not(key,what)
  return '`'..sub(string.gsub(key,'%c','?'),1,200)..'` '..sub(string.gsub(what,'%c','?'),1,300)
end
-- whole numbers as text: doubles hold those below 2^53 only
local function less(a,b)
  local x,y=tonumber(a),tonumber(b)
  if x~=y or a==b then return x<y end
  if #a~=#b then return (#a<#b)~=(sub(a,1,1)=='-') end
  return (a<b)~=(sub(a,1,1)=='-')
end
local function whole(text)
  if text~='0' and not match(text,'^-?[1-9]%d*$') then return false end
  return #text<19 or (#text<21 and not less('9223372036854775807',text) and not less(text,'-9223372036854775808'))
end
local function sum(a,b)
  if math.abs(tonumber(a))<4e15 and math.abs(tonumber(b))<4e15 then return int(tonumber(a)+tonumber(b)) end
  call('SET',P..'scratch',a)                             -- the server counts in 64 bits
  local r=redis.pcall('INCRBY',P..'scratch',b)
  local text=type(r)~='table' and call('GET',P..'scratch')
  call('DEL',P..'scratch')
  return text
end
local function unmet(value,kind,need)
  if kind=='=' then return value~=need and (value and 'is not what is required' or 'is not there, and is required') end
  if kind=='-' then return value and 'is there, and is required not to be' end
  if kind=='+' then return not value and 'is not there, and is required' end
  if value and not whole(value) then return 'holds no whole number' end
  value=value or '0'
  if kind=='>' then return less(value,need) and 'is '..value..', at least '..need..' is required' end
  return less(need,value) and 'is '..value..', at most '..need..' is required'
end
local function effects(list)
  local n,first=#list,list[1]
  if n==0 then return nil end
  local alone
  if n==1 and sub(first[1],1,1)~='?' then                -- nothing can be left half done: checked only to say what was wrong
    alone=redis.pcall(unpack(first))
    if type(alone)~='table' or not alone.err then return nil end
  end
  local kinds,texts,hashes,wiped={},{},{},{}
  local function kind(key)
    if not kinds[key] then kinds[key]=call('TYPE',key).ok end
    return kinds[key]
  end
  local function text(key)
    if texts[key]==nil then
      local k=kinds[key]
      local v=(not k or k=='string') and redis.pcall('GET',key)
      if type(v)=='table' then kind(key); v=false elseif not k then kinds[key]=v and 'string' or 'none' end
      texts[key]=v
    end
    return texts[key]
  end
  local function field(key,name)
    local h=hashes[key]
    if not h then h={}; hashes[key]=h end
    if h[name]==nil then h[name]=not wiped[key] and kind(key)=='hash' and call('HGET',key,name) end
    return h[name]
  end
  local function put(key,name,value)
    field(key,name); hashes[key][name]=value
    if value then kinds[key]='hash' end
  end
  local function emptied(key,value) kinds[key]=value and 'string' or 'none'; texts[key]=value; hashes[key]=nil; wiped[key]=true end
  local allowed=redis.acl_check_cmd
  for _,e in ipairs(list) do
    local verb,key=e[1],e[2]
    if verb=='?' then
      local value=text(key)
      if kinds[key]~='string' and kinds[key]~='none' then return why_not(key,'holds a '..kinds[key]..', no string') end
      local what=unmet(value,e[3],e[4])
      if what then return why_not(key,what) end
    elseif verb=='?h' then
      if kind(key)~='hash' and kind(key)~='none' then return why_not(key,'holds a '..kind(key)..', no hash') end
      local what=unmet(field(key,e[3]),e[4],e[5])
      if what then return why_not(key..'.'..e[3],what) end
    else
      local want=WANT[verb]
      if want then
        if want=='string' then text(key) end
        local k=kind(key)
        if k~='none' and k~=want then return why_not(key,'holds a '..k..', no '..want) end
      end
      if verb=='SET' then emptied(key,e[3])
      elseif verb=='DEL' then emptied(key,false)
      elseif verb=='HSET' then put(key,e[3],e[4])
      elseif verb=='HDEL' then if kinds[key]=='hash' then put(key,e[3],false) end
      elseif verb=='INCRBY' or verb=='HINCRBY' then
        local at=verb=='INCRBY' and text(key) or verb=='HINCRBY' and field(key,e[3])
        if at and not whole(at) then return why_not(key,'holds no whole number') end
        local by=verb=='INCRBY' and e[3] or e[4]
        local to=sum(at or '0',by)
        if not to then return why_not(key,'would leave 64 bits: '..(at or '0')..' and '..by) end
        if verb=='INCRBY' then texts[key]=to; kinds[key]='string' else put(key,e[3],to) end
      elseif want and verb~='SREM' and verb~='ZREM' then kinds[key]=want end
      if allowed and not allowed(unpack(e)) then return why_not(key,'is not to be changed by this user with '..verb..': see its rights (ACL) on the server') end
    end
  end
  if alone then return why_not(first[2],alone.err) end
  local done=false
  for _,e in ipairs(list) do
    if sub(e[1],1,1)~='?' then
      local r=redis.pcall(unpack(e))
      if type(r)=='table' and r.err then return why_not(e[2],r.err),done end
      done=true
    end
  end
end
