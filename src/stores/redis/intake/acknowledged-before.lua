-- Reads up to which entry a shard was acknowledged some time ago, by the marks of trim-stream.lua. KEYS[1] the stream.
-- ARGV: prefix, ms. Returns { id of an entry that was acknowledged so long ago, '0-0' where none is known; id from which
-- entries are still there, '0-0' where none was ever trimmed, '' where that is not known }.
local time = redis.call('TIME')
local before = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[2]
local mark = redis.call('ZREVRANGEBYSCORE', ARGV[1] .. 'acked-at', before, '-inf', 'LIMIT', 0, 1)[1] or '0-0'
if redis.call('EXISTS', KEYS[1]) == 0 then return { mark, '0-0' } end
local info, facts = redis.call('XINFO', 'STREAM', KEYS[1]), {}
for i = 1, #info, 2 do facts[info[i]] = info[i + 1] end
if facts['entries-added'] == facts['length'] then return { mark, '0-0' } end
return { mark, redis.call('GET', ARGV[1] .. 'trimmed') or '' }
