-- Moves the end of a survey's freeze, if it is still the same one and not over. KEYS[1] the survey's hash. ARGV: the
-- value of `held` that freeze-survey.lua returned, for how many ms from now. Returns 1, or 0 where the freeze is over.
local frozen, token = redis.call('HGET', KEYS[1], 'held'), string.match(ARGV[1], '%..*$')
if not frozen or string.match(frozen, '%..*$') ~= token then return 0 end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if tonumber(frozen) <= nowMs then return 0 end
redis.call('HSET', KEYS[1], 'held', string.format('%d', nowMs + tonumber(ARGV[2])) .. token)
return 1
