-- Saves the compressed definition of an open survey beside what the intake knows of the survey, or removes it.
-- KEYS (of one slot): 1 the definition's hash · 2 the survey's hash · 3 the bytes that the shard's definitions take.
-- ARGV: revision, format of the definition, the compressed definition ('' = remove it), bytes that all may take.
-- Only a definition of the revision in force is saved, so that one that arrives late neither replaces a newer one nor
-- comes back after it was removed.
-- Returns 1 when saved or removed, 0 when nothing changed, -1 when there is no room: then none is stored.
local revision, format, compressed, maxBytes = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
-- Bytes of the key, its fields and the hash itself.
local overheadBytes = 256
local known = redis.call('HMGET', KEYS[1], 'rev', 'v')
local isSaving = compressed ~= ''
if isSaving then
  if redis.call('HGET', KEYS[2], 'rev') ~= revision then return 0 end
  if known[1] == revision and tonumber(known[2]) >= format then return 0 end
elseif not known[1] or tonumber(known[1]) > tonumber(revision) then return 0 end

local before = known[1] and overheadBytes + redis.call('HSTRLEN', KEYS[1], 'data') or 0
local after = isSaving and overheadBytes + #compressed or 0
local isTooMuch = isSaving and tonumber(redis.call('GET', KEYS[3]) or '0') - before + after > maxBytes
if isTooMuch then after = 0 end
if after == 0 then redis.call('DEL', KEYS[1])
else redis.call('HSET', KEYS[1], 'rev', revision, 'v', format, 'data', compressed) end
if after ~= before then redis.call('INCRBY', KEYS[3], after - before) end
return isTooMuch and -1 or 1
