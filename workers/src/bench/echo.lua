-- echo.lua: the least that a script call can do.
-- KEYS:    whatever an enqueue would bring
-- ARGV:    whatever an enqueue would bring
-- returns: 1
-- cost:    none
-- called by: bench/floor.rs
return 1
