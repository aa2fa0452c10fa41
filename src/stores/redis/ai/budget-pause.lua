-- Stops calls to a provider for a while. KEYS[1] the end of the pause. ARGV: ms. A longer pause is kept.
-- Returns 1 when the pause was set, otherwise 0.
local time = redis.call('TIME')
local pausedUntil = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
if tonumber(string.match(redis.call('GET', KEYS[1]) or '0', '^%d+')) >= pausedUntil then return 0 end
-- With its length, by which it is bounded after the clock was set back.
redis.call('SET', KEYS[1], string.format('%d %d', pausedUntil, ARGV[1]), 'PX', ARGV[1])
return 1
