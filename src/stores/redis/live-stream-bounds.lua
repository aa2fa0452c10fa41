-- Where a shard's stream begins and ends, without sending its entries. KEYS: the stream, the number of deletions.
-- Returns { id of the oldest entry or '', newest id ever given, 1 when entries have been trimmed, deletions so far }.
local removals = redis.call('GET', KEYS[2]) or '0'
if redis.call('EXISTS', KEYS[1]) == 0 then return { '', '0-0', 0, removals } end
local info, facts = redis.call('XINFO', 'STREAM', KEYS[1]), {}
for i = 1, #info, 2 do facts[info[i]] = info[i + 1] end
local first = facts['first-entry']
return { first and first[1] or '', facts['last-generated-id'], facts['entries-added'] > facts['length'] and 1 or 0, removals }
