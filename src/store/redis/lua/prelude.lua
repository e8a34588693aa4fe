-- Purpose: names and formats shared by every script. Fragment, first in each.
-- KEYS: 1 the namespace's prefix "{namespace}:" (for the cluster's slot; every key is made from it)
-- ARGV: as each script says
-- Returns: nothing
-- Cost: no command
-- Called by: every script
local P,A=KEYS[1],ARGV
local call,sub,find,fmt,match=redis.call,string.sub,string.find,string.format,string.match
local L=22                                              -- length of a job id
local JOBS,BODIES,OWN,PLACES,TRIES=P..'jobs',P..'bodies',P..'owners',P..'places',P..'tries'
local STATE,ACTIVE,CLAIMS,SCHED,DEAD=P..'state',P..'active',P..'claims',P..'scheduled',P..'dead'
local LC,NEXT,WAITS,CANCELS,WATCHED,PAUSED=P..'lock_checks',P..'next',P..'waits',P..'cancels',P..'watched',P..'paused'
-- numbers reach redis.call as text: Redis would print them through %.17g
local function int(x) return fmt('%d',x) end
-- queue, priority, locks, on_busy, wait ms, unique, crash limit of a stored job; nil when it is none of ours
local function header(v)
  return match(v,'^1|([%w_.-]+)|([012])|([^|\n]*)|([wsf]?z?%d*)|(%d*)|([^|\n]*)|(%d+)|')
end
-- the entry of a job in its queue's list, and the same with the queue in front, as it stands in `scheduled` and `parked`
local function entry_of(id,locks) if locks=='' then return id end return id..'|'..locks end
local function where_of(id,queue,prio,locks) return prio..queue..'|'..entry_of(id,locks) end
-- queue, priority, entry, id of a `where`
local function split_where(w)
  local bar=find(w,'|',1,true)
  return sub(w,2,bar-1),sub(w,1,1),sub(w,bar+1),sub(w,bar+1,bar+L)
end
local function list_of(queue,prio) return P..'queue:'..queue..':'..prio end
-- a mark says "look"; there is at most one a queue
local function arm(queue)
  local key=P..'wake:'..queue
  if call('EXISTS',key)==0 then call('LPUSH',key,'1') end
end
local function each_lock(locks) return string.gmatch(locks,'[^,]+') end
