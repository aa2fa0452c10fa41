-- Keeps the definition of an open survey beside what the intake knows of the survey, or removes it.
-- KEYS (of one slot): 1 the definition's hash · 2 the survey's hash · 3 the bytes that the shard's definitions take.
-- ARGV: revision, form of the packed definition, the definition packed ('' = remove it), bytes that they may take.
-- Only a definition of the revision in force is kept, so that none that comes late replaces a newer one, or comes back
-- after it was removed.
-- Returns 1 when kept or removed, 0 when nothing changed, -1 when there is no room: then none is kept.
local revision, form, packed, bytesAtMost = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
-- Of the key, its fields and the hash around the packed text.
local overheadBytes = 256
local known = redis.call('HMGET', KEYS[1], 'rev', 'v')
local isKept = packed ~= ''
if isKept then
  if redis.call('HGET', KEYS[2], 'rev') ~= revision then return 0 end
  if known[1] == revision and tonumber(known[2]) >= form then return 0 end
elseif not known[1] or tonumber(known[1]) > tonumber(revision) then return 0 end

local before = known[1] and overheadBytes + redis.call('HSTRLEN', KEYS[1], 'data') or 0
local after = isKept and overheadBytes + #packed or 0
local isTooMuch = isKept and tonumber(redis.call('GET', KEYS[3]) or '0') - before + after > bytesAtMost
if isTooMuch then after = 0 end
if after == 0 then redis.call('DEL', KEYS[1])
else redis.call('HSET', KEYS[1], 'rev', revision, 'v', form, 'data', packed) end
if after ~= before then redis.call('INCRBY', KEYS[3], after - before) end
return isTooMuch and -1 or 1
