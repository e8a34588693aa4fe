-- Purpose: the server's time. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: now() -> milliseconds, microseconds since 1970
-- Cost: TIME
-- Called by: every script that needs time; the test build takes now_test.lua instead
local function now()
  local t=call('TIME')
  local s,us=tonumber(t[1]),tonumber(t[2])
  return s*1000+math.floor(us/1000),s*1000000+us
end
