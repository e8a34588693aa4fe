-- Purpose: time for tests: it stands still and moves only by advance.lua. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: now() -> milliseconds, microseconds since 1970
-- Cost: GET
-- Called by: every script of a store opened with a test clock, in place of now.lua
local function now()
  local ms=1700000000000+tonumber(match(call('GET',P..'test_clock') or '0','^%d+'))
  return ms,ms*1000
end
