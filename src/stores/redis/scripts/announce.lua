-- Tells the intake what a survey's row says now. KEYS[1] the survey's hash.
-- ARGV: revision, quota ('' = none), code positions, total and completed (used only when the intake does not know the survey).
-- Returns 1 when written, 0 when the intake already knows this revision or a newer one.
local known = tonumber(redis.call('HGET', KEYS[1], 'rev') or '-1')
if known >= tonumber(ARGV[1]) then return 0 end
if known == -1 then redis.call('HSET', KEYS[1], 'total', ARGV[4], 'completed', ARGV[5])
-- Who holds the survey back does so for this revision, or finds that it has changed meanwhile.
else redis.call('HDEL', KEYS[1], 'held') end
redis.call('HSET', KEYS[1], 'rev', ARGV[1], 'quota', ARGV[2], 'codes', ARGV[3], 'filled', '0')
return 1
