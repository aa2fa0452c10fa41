-- Ends the holding back of a survey, if it is still the same one. KEYS[1] the survey's hash, ARGV[1] what `held` was set to.
-- Its end may have been moved; the number behind the point tells holders apart.
local held = redis.call('HGET', KEYS[1], 'held')
if held and string.match(held, '%..*$') == string.match(ARGV[1], '%..*$') then redis.call('HDEL', KEYS[1], 'held') end
return 1
