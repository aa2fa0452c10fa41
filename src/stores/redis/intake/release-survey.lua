-- Ends the freeze of a survey, if it is still the same one. KEYS[1] the survey's hash. ARGV[1] the value of `held` that
-- freeze-survey.lua returned.
if redis.call('HGET', KEYS[1], 'held') == ARGV[1] then redis.call('HDEL', KEYS[1], 'held') end
return 1
