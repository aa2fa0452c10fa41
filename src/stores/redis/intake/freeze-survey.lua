-- Holds a survey back, unless somebody does already. KEYS[1] the survey's hash. ARGV: for how many ms, a number that tells this holder from others.
-- Returns what `held` was set to and the revision in force ('' = the intake knows of none), or nothing while another holds it.
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local held = redis.call('HGET', KEYS[1], 'held')
if held and tonumber(held) > nowMs then return {} end
held = string.format('%d.%s', nowMs + tonumber(ARGV[1]), ARGV[2])
redis.call('HSET', KEYS[1], 'held', held)
return { held, redis.call('HGET', KEYS[1], 'rev') or '' }
