-- Writes what the intake must know of a survey's row. KEYS[1] the survey's hash.
-- ARGV: revision, quota ('' = none), code positions, total and completed (used only where the intake does not know
-- them),
--   revision to be overruled ('' = none): that of a deleted survey which the database has again.
-- Returns 1 when written, 0 when the intake already knows this revision or a newer one.
local rev = redis.call('HGET', KEYS[1], 'rev')
if rev == ARGV[6] then redis.call('PERSIST', KEYS[1])
elseif rev and tonumber(rev) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSETNX', KEYS[1], 'total', ARGV[4])
redis.call('HSETNX', KEYS[1], 'completed', ARGV[5])
-- A new revision ends the freeze: whoever froze the survey saves this revision, or finds that the survey has changed.
if rev then redis.call('HDEL', KEYS[1], 'held') end
redis.call('HSET', KEYS[1], 'rev', ARGV[1], 'quota', ARGV[2], 'codes', ARGV[3], 'filled', '0')
return 1
