-- Purpose: reading and writing headers, entries and places. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: header(value), entry_of, where_of, split_where, list_of, arm(queue), each_lock(spec)
-- Cost: arm: EXISTS and at most LPUSH
-- Called by: every script that moves jobs
-- queue, priority, locks, on_busy, wait ms, unique, crash limit of a stored job; nil when it is none of ours
local function header(v)
  return match(v,'^1|([%w_.-]+)|([012])|([^|\n]*)|([wsf]?z?%d*)|(%d*)|([^|\n]*)|(%d+)|')
end
-- the entry of a job in its queue's list, and the same with priority and queue in front, as it stands in `scheduled` and `parked`
local function entry_of(id,locks) if locks=='' then return id end return id..'|'..locks end
local function where_of(id,queue,prio,locks) return prio..queue..'|'..entry_of(id,locks) end
-- queue, priority, entry, id of a `where`; nil when it is none of ours
local function split_where(w)
  local prio,queue,entry=match(w or '','^([012])([%w_.-]+)|(.*)$')
  if not prio or #entry<L then return nil end
  return queue,prio,entry,sub(entry,1,L)
end
local function list_of(queue,prio) return P..'queue:'..queue..':'..prio end
-- a mark says "look"; there is at most one a queue
local function arm(queue)
  local key=P..'wake:'..queue
  if call('EXISTS',key)==0 then call('LPUSH',key,'1') end
end
local function each_lock(locks) return string.gmatch(locks,'[^,]+') end
