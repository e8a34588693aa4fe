-- Purpose: what rides the settle of a done job: effects, jobs that follow, a result. All of it or none. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: ride({fallback,effects,jobs flat as in enqueue.lua from their count on or '',result or '',ms it is kept},id,ms) -> as effects
-- Cost: that of effects.lua and accept.lua; one command for a result
-- Called by: settle
local function ride(extra,id,ms)
  local jobs,plan,c=extra[3],nil,0
  if jobs~='' then
    c=tonumber(jobs[1])
    plan=judge(jobs,4,4+2*c,c,ms)
    for i=1,c do
      if sub(plan.said[i],1,1)=='C' then
        local key=match(jobs[4+3*c+i],'^[^;]*;%x*;%d*;%d*;(.*)$')
        return why_not(key,'is a unique key that job '..sub(plan.said[i],2)..' holds with other arguments')
      end
    end
  end
  local why,some=effects(extra[2])
  if why then return why,some end
  if plan then
    local bodies=4+4*c
    for i=1,tonumber(jobs[4]) do
      local at=bodies+2*i-1
      if plan.is_new[jobs[at]] then call('HSET',BODIES,jobs[at],jobs[at+1]) end
    end
    admit(plan)
  end
  if extra[4]~='' then call('SET',P..'result:'..id,extra[4],'PX',extra[5]) end
end
