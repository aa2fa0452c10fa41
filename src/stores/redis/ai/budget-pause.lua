-- Stops calls to a provider for a while. KEYS[1] hold. ARGV: ms. A longer pause stays.
local time = redis.call('TIME')
local till = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
if tonumber(redis.call('GET', KEYS[1]) or '0') >= till then return 0 end
redis.call('SET', KEYS[1], string.format('%d', till), 'PX', ARGV[1])
return 1
