-- Purpose: what every script starts with. Fragment, first in each.
-- The assembler (script.rs) writes constants into the text: JOBS and the like become the full key, P..'x' becomes '{namespace}:x', L becomes the
-- length of a job id, int(x) becomes fmt('%d',x). Lua captures each local a function uses, and that is what a small turn would pay for.
-- KEYS: 1 the namespace's prefix "{namespace}:" (for the cluster's slot)
-- ARGV: as each script says
-- Returns: nothing
-- Cost: no command
-- Called by: every script
local A=ARGV
local call,sub,find,fmt,match=redis.call,string.sub,string.find,string.format,string.match
local quiet=false                                       -- whether the attempts log is off
local rare                                              -- which of the rare keys exist; nil: not asked, assume all
