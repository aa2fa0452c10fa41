-- Freezes a survey, unless it is frozen. KEYS[1] the survey's hash. ARGV: for how many ms, a number that tells callers
-- apart. The field is `held`: the end of the freeze in ms, a point, and that number.
-- Returns the value of `held` and the revision in force ('' = the intake knows none), or nothing while another caller
-- has frozen the survey.
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local frozen = redis.call('HGET', KEYS[1], 'held')
if frozen and tonumber(frozen) > nowMs then
  -- As in append.lua: after the clock was set back a freeze lasts a minute at most from when that is noticed.
  if tonumber(frozen) > nowMs + 60000 then
    local bounded = string.format('%d', nowMs + 60000) .. string.match(frozen, '%..*$')
    redis.call('HSET', KEYS[1], 'held', bounded)
  end
  return {}
end
frozen = string.format('%d.%s', nowMs + tonumber(ARGV[1]), ARGV[2])
redis.call('HSET', KEYS[1], 'held', frozen)
return { frozen, redis.call('HGET', KEYS[1], 'rev') or '' }
