-- Purpose: accept a batch of jobs, each whole or not at all.
-- KEYS: 1 prefix
-- ARGV: 1 process 2 lane 3 number 4 "<number-1>|" 5 resend (0/1) 6 refresh the lanes' lifetime (0/1) 7 c 8 queue and 9 priority when all are plain
--   and of one list, else '' 10 number of bodies apart; then id, value pairs [2c]; entries[c] (plain) or wheres[c]; when not plain extras[c]
--   "due;digest;kept ms;expires ms;unique key" (due: '' now, +ms, =epoch ms; digest '' without a key); then id, body pairs of the bodies apart
-- Returns: "n" all new; else a letter a job: N, or E or C (conflict) followed by the holder's id; STALE, LANE_LOST with a `!` in front
-- Cost: plain: see enqueue_plain.lua; else that of accept.lua
-- Called by: RedisStore::enqueue
local ms=now()
local plan=judge(A,pairs_at,entries_at,c,ms)
if A[10]~='0' then
  for i=1,c do
    if plan.said[i]~='N' then call('HDEL',BODIES,A[pairs_at+2*i-1]) end
  end
end
admit(plan)
local answer=table.concat(plan.said)
if answer==string.rep('N',c) then answer='n' end
if A[2]=='' then return int(ms)..answer end              -- a step of a schedule: it has no lane
call('HSET',LANES,A[2],A[3]..'|'..answer)
if A[6]=='1' or not row then call('PEXPIRE',LANES,'600000') end
return answer
