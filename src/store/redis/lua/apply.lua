-- Purpose: effects by themselves, all of them or none.
-- KEYS: 1 prefix
-- ARGV: 1 effects, packed
-- Returns: '' when applied, 'r' and why not, 'b' and why it stopped half way
-- Cost: see effects.lua
-- Called by: RedisStore::apply
local why,some=effects(cmsgpack.unpack(A[1]))
if not why then return '' end
return (some and 'b' or 'r')..why
