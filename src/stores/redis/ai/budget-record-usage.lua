-- Replaces the reserved tokens of a call by the tokens that it used. KEYS[1] tokens by call. ARGV: id of the call, tokens.
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held then return 0 end
redis.call('HINCRBY', KEYS[1], 'sum', tonumber(ARGV[2]) - tonumber(held))
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
