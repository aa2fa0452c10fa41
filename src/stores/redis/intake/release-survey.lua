-- Ends the freeze of a survey, if it is still the same one. KEYS[1] the survey's hash. ARGV[1] the value of `held` that
-- freeze-survey.lua returned. Returns 1, or 0 where the freeze was over already.
-- Its end may have been moved since; the number behind the point tells callers apart.
local frozen = redis.call('HGET', KEYS[1], 'held')
if not frozen or string.match(frozen, '%..*$') ~= string.match(ARGV[1], '%..*$') then return 0 end
redis.call('HDEL', KEYS[1], 'held')
local now = redis.call('TIME')
return tonumber(frozen) > now[1] * 1000 + now[2] / 1000 and 1 or 0
