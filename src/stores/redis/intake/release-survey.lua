-- Ends the freeze of a survey, if it is still the same one. KEYS[1] the survey's hash. ARGV[1] the value of `held` that
-- freeze-survey.lua returned.
-- Its end may have been moved since; the number behind the point tells callers apart.
local frozen = redis.call('HGET', KEYS[1], 'held')
if frozen and string.match(frozen, '%..*$') == string.match(ARGV[1], '%..*$') then
  redis.call('HDEL', KEYS[1], 'held')
end
return 1
