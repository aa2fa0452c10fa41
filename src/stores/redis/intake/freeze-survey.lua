-- Holds a survey back, unless somebody does already. KEYS[1] the survey's hash. ARGV: for how many ms, a number that tells this holder from others.
-- Returns what `held` was set to and the revision in force ('' = the intake knows of none), or nothing while another holds it.
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local held = redis.call('HGET', KEYS[1], 'held')
if held and tonumber(held) > nowMs then
  -- As in append.lua: after the clock was set back it lasts a minute at most from when that is noticed.
  if tonumber(held) > nowMs + 60000 then redis.call('HSET', KEYS[1], 'held', string.format('%d', nowMs + 60000) .. string.match(held, '%..*$')) end
  return {}
end
held = string.format('%d.%s', nowMs + tonumber(ARGV[1]), ARGV[2])
redis.call('HSET', KEYS[1], 'held', held)
return { held, redis.call('HGET', KEYS[1], 'rev') or '' }
