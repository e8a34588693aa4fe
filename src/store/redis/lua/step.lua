-- Purpose: change a schedule's row, if it, the clock and the job of its latest tick are as assumed; enqueue.lua, which follows, accepts the jobs. Fragment.
-- KEYS: 1 prefix
-- ARGV: 1 name 2 row expected, '' for none 3 row to be, '' removes it 4 from ms 5 before ms 6 whether the latest job must live (0/1) ('' in 4 to 6: whatever)
--   7 tell others (0/1); then those of enqueue.lua, without a lane and never plain
-- Returns: as enqueue.lua, or "?", now ms, and why: L and the row, E early, P past, M and whether the job lives
-- Cost: 2 commands and TIME, 2 where the job is asked for, 1 where others are told
-- Called by: RedisStore::step_schedule
local S=A
A={unpack(S,8)}
local ms=now()
local at=call('HGET',SCHEDULES,S[1]) or ''
if at~=S[2] then return '?'..int(ms)..'L'..at end
if S[4]~='' and ms<tonumber(S[4]) then return '?'..int(ms)..'E' end
if S[5]~='' and ms>=tonumber(S[5]) then return '?'..int(ms)..'P' end
if S[6]~='' then
  local lives=job_lives(sub(at,1,L)) and '1' or '0'
  if lives~=S[6] then return '?'..int(ms)..'M'..lives end
end
local c,pairs_at,entries_at=tonumber(A[7]),10,10+2*tonumber(A[7])
local bodies_at=entries_at+2*c
if S[3]=='' then call('HDEL',SCHEDULES,S[1]) else call('HSET',SCHEDULES,S[1],S[3]) end
if S[7]=='1' then call('HINCRBY',STATE,'schedules','1') end
for i=1,tonumber(A[10]) do call('HSET',BODIES,A[bodies_at+2*i-1],A[bodies_at+2*i]) end
