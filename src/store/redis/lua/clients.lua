-- Purpose: clients that stand in line for a lock among the parked jobs, each as 'c<token>': whether one can be told, and the offer. Fragment.
-- An offer is the lock held under the waiter's token for a second: it confirms by asking again, or the lock ends by itself. Who cannot be told keeps
-- its place: its process may be reconnecting. A process that has not asked for long is gone.
-- KEYS: -
-- ARGV: -
-- Returns: offer_client(key,token,ms) -> 'offered', 'silent' or 'gone'; last_granted() -> the last fence of an offer in this script, or 0
-- Cost: ZSCORE and PUBLISH a process, 4 commands an offer
-- Called by: free, turn
local OFFER_MS,SILENT_MS,GONE_MS=1000,4000,30000
local asking                                            -- the token whose ask this is
local granted=0
local function last_granted() return granted end
local told={}                                           -- processes found silent or gone in this script
local function offer_client(key,token,ms)
  if token~=asking then
    local process=match(token,'^[^.]*')
    if not told[process] then
      local asked=tonumber(call('ZSCORE',WAITING,process) or '0')
      if asked<ms-GONE_MS then told[process]='gone'
      elseif asked<ms-SILENT_MS then told[process]='silent'
      else
        -- told by pcall, for a channel may be forbidden; then the timer of whoever waits finds the lock
        local n=redis.pcall('PUBLISH',P..'push:'..process,'o'..token)
        if type(n)=='number' then
          if n==0 then told[process]='silent' end
        else
          told[process]='silent'
          local minute=P..'stats:'..int(math.floor(ms/60000))
          call('HINCRBY',minute,'push_refused','1')
          call('PEXPIRE',minute,'86400000')
        end
      end
    end
    if told[process] then return told[process] end
  end
  local _,us=now()
  granted=math.max((granted>0 and granted or tonumber(call('HGET',STATE,'fence') or '0') or 0)+1,us)
  call('HSET',STATE,'fence',int(granted))
  call('HSET',P..'lock:'..key,token,int(granted))
  call('PEXPIRE',P..'lock:'..key,int(OFFER_MS))
  return 'offered'
end
