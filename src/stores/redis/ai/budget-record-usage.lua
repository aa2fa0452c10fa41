-- Replaces the reserved tokens of a call by the tokens that it used. KEYS[1] tokens by call. ARGV: id of the call,
-- tokens.
-- Returns 0 when the reservation has expired, otherwise 1.
local reserved = redis.call('HGET', KEYS[1], ARGV[1])
if not reserved then return 0 end
redis.call('HINCRBY', KEYS[1], 'sum', tonumber(ARGV[2]) - tonumber(reserved))
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
