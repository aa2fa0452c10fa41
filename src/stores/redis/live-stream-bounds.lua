-- Reads the bounds of a shard's stream without sending its entries. KEYS: the stream, the number of deletions.
-- Returns { id of the oldest entry or '', newest id ever given, 1 when entries have been trimmed, deletions so far }.
local deletions = redis.call('GET', KEYS[2]) or '0'
if redis.call('EXISTS', KEYS[1]) == 0 then return { '', '0-0', 0, deletions } end
local info, facts = redis.call('XINFO', 'STREAM', KEYS[1]), {}
for i = 1, #info, 2 do facts[info[i]] = info[i + 1] end
local first = facts['first-entry']
local isTrimmed = facts['entries-added'] > facts['length']
return { first and first[1] or '', facts['last-generated-id'], isTrimmed and 1 or 0, deletions }
