-- Purpose: a job that is not active leaves wherever it stands. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: leave(id,value,place,ms): its place's entry is gone; an entry in a queue stays behind and is dropped when met
-- Cost: up to 6 commands
-- Called by: cancel, delete, retry
local function leave(id,value,place,ms)
  local queue,prio,locks=header(value or '')
  if not queue then return end
  local where=where_of(id,queue,prio,locks)
  if place=='s' then call('ZREM',SCHED,where)
  elseif place and sub(place,1,1)=='p' then
    local key=match(place,'|(.*)$')
    unpark(key,where,id)
    settle_checks(key)
  elseif not place then                                  -- ready: it may have given up, or be the next of a lock
    call('ZREM',WAITS,id)
    for key in each_lock(locks) do
      local row=call('HGET',NEXT,key)
      if row and find(row,'|'..where,1,true) then
        call('HDEL',NEXT,key)
        free_and_offer(key,ms)
        settle_checks(key)
      end
    end
  end
end
