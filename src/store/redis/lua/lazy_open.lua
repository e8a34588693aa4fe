-- Purpose: what most turns do not need is defined when first called for: from here to lazy_close.lua. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: R() -> table of the functions in between
-- Cost: no command
-- Called by: turn, surrender
local lib
local function R()
if lib then return lib end
