-- Purpose: an active job goes back to the head of its queue, or where a request to cancel or delete it leads. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: requested(id,value,ms) -> whether a request took it; back(id,value,ms)
-- Cost: up to 5 commands
-- Called by: settle, reap, renew
local function requested(id,value,ms)
  local mark=call('HGET',CANCELS,id)
  if not mark then return false end
  if mark=='d' then
    local _,_,_,_,_,unique=header(value)
    tell(id,'x'); remove(id,unique or '')
  else
    bury(id,value,'c','cancelled',ms)
  end
  return true
end
local function back(id,value,ms)
  if not value then call('HDEL',OWN,id); return end
  if requested(id,value,ms) then return end
  local queue,prio,locks=header(value)
  if not queue then bury(id,value,'u','the stored job cannot be read',ms); return end
  call('LPUSH',list_of(queue,prio),entry_of(id,locks))
  call('HDEL',OWN,id)
  arm(queue)
end
