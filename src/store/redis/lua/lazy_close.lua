-- Purpose: end of what lazy_open.lua opened. Fragment.
-- KEYS: -
-- ARGV: -
-- Returns: -
-- Cost: no command
-- Called by: turn, surrender
lib={header=header,entry_of=entry_of,where_of=where_of,split_where=split_where,arm=arm,tries_read=tries_read,tries_write=tries_write,
  add_error=add_error,free_unique=free_unique,tell=tell,remove=remove,bury=bury,requested=requested,back=back,free=free,offer=offer,
  free_and_offer=free_and_offer,settle_checks=settle_checks,look=look,lone=lone,ride=ride,fence_of=fence_of,
  last_granted=last_granted}
return lib
end
