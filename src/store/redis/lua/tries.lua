-- Purpose: what went before with a job: `charged|strikes|mark|mismatches|since ms|reaper's token` and its last errors. Fragment.
-- mark: '' clean, 's' suspect, 'S' runs as a suspect, 'A' runs as a suspect alone; a '+' after the token: that reap gave a strike.
-- KEYS: -
-- ARGV: -
-- Returns: tries_read(row) -> table, tries_write(id, table), add_error(table, text)
-- Cost: one HSET or HDEL a write
-- Called by: settle, reap, claim, cancel, retry
local ERRORS_KEPT=3
local function tries_read(row)
  if not row then return {charged=0,strikes=0,mark='',mismatches=0,since=0,by='',errors=''} end
  local c,s,m,mm,si,by,e=match(row,'^(%d+)|(%d+)|([sSA]?)|(%d+)|(%d+)|([^\n]*)\n(.*)$')
  if not c then return tries_read(nil) end
  return {charged=tonumber(c),strikes=tonumber(s),mark=m,mismatches=tonumber(mm),since=tonumber(si),by=by,errors=e}
end
local function tries_write(id,t)
  if t.charged==0 and t.strikes==0 and t.mark=='' and t.mismatches==0 and t.errors=='' then return call('HDEL',TRIES,id) end
  call('HSET',TRIES,id,int(t.charged)..'|'..int(t.strikes)..'|'..t.mark..'|'..int(t.mismatches)..'|'..int(t.since)..'|'..t.by..'\n'..t.errors)
end
local function add_error(t,text)
  if text=='' then return end
  local kept,n={},0
  for e in string.gmatch(t.errors,'[^\1]+') do n=n+1; kept[n]=e end
  n=n+1; kept[n]=string.gsub(text,'\1',' ')
  t.errors=table.concat(kept,'\1',math.max(1,n-ERRORS_KEPT+1),n)
end
