-- Reserves one call to an AI provider within its limits, or returns how long to wait.
-- KEYS: calls (sorted by time), tokens (by call, and their sum), pause (the end of a pause, a blank and its length, in
-- ms), demand (exists for a while after a call that may use the full limits), wanted (tokens of such a call that waits,
-- until somewhat after it should find room). ARGV: id of the call, maximum tokens of the call, calls per window, tokens
-- per window, ms of the window, share of the limits that the call may use, ms for which a call with the full share makes
-- smaller shares apply, ms for which the room of a waiting call is kept beyond its wait. A call that is reserved already
-- keeps its reservation, with the current time.
-- Returns 0 when the call may be sent, otherwise the ms after which to ask again.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local isBulk = tonumber(ARGV[6]) < 1
if not isBulk then redis.call('SET', KEYS[4], '1', 'PX', ARGV[7]) end
local share = (isBulk and redis.call('EXISTS', KEYS[4]) == 1) and tonumber(ARGV[6]) or 1
local window = tonumber(ARGV[5])
-- After the clock was set back: a pause lasts its own length at most, and calls of later than now count as made now.
local pausedUntil, length = string.match(redis.call('GET', KEYS[3]) or '0 0', '^(%d+) ?(%d*)$')
local pauseLeft, pauseMs = tonumber(pausedUntil) - now, tonumber(length)
if pauseMs and pauseLeft > pauseMs then
  redis.call('SET', KEYS[3], string.format('%d %d', now + pauseMs, pauseMs), 'PX', pauseMs)
  pauseLeft = pauseMs
end
if pauseLeft > 0 then return pauseLeft end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  redis.call('ZADD', KEYS[1], now, id)
end

-- 0 - n, as -n of 0 is the text '-0', which HINCRBY refuses.
local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - window)
for _, id in ipairs(expired) do
  redis.call('HINCRBY', KEYS[2], 'sum', 0 - tonumber(redis.call('HGET', KEYS[2], id) or '0'))
  redis.call('HDEL', KEYS[2], id)
end
if #expired > 0 then redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window) end

if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  return 0
end

local maxTokens = math.max(1, math.floor(tonumber(ARGV[4]) * share))
local maxCalls = math.max(1, math.floor(tonumber(ARGV[3]) * share))
-- A call that is larger than the limit is sent alone.
local tokens = math.min(tonumber(ARGV[2]), maxTokens)
local wanted = tonumber(redis.call('GET', KEYS[5]) or '0')
if isBulk and wanted > 0 then
  maxTokens = math.min(maxTokens, tonumber(ARGV[4]) - wanted)
  maxCalls = math.min(maxCalls, tonumber(ARGV[3]) - 1)
end
local surplusCalls = redis.call('ZCARD', KEYS[1]) + 1 - maxCalls
local surplusTokens = tonumber(redis.call('HGET', KEYS[2], 'sum') or '0') + tokens - maxTokens
if surplusCalls <= 0 and surplusTokens <= 0 then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], tokens)
  redis.call('HINCRBY', KEYS[2], 'sum', tokens)
  redis.call('PEXPIRE', KEYS[1], window * 2)
  redis.call('PEXPIRE', KEYS[2], window * 2)
  if not isBulk and tokens >= wanted then redis.call('DEL', KEYS[5]) end
  return 0
end

local wait = window
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  surplusCalls = surplusCalls - 1
  surplusTokens = surplusTokens - tonumber(redis.call('HGET', KEYS[2], id) or '0')
  if surplusCalls <= 0 and surplusTokens <= 0 then
    wait = tonumber(redis.call('ZSCORE', KEYS[1], id)) + window - now
    break
  end
end
wait = math.max(1, math.ceil(wait))
-- A smaller call leaves the room of a larger one as it is, and fits into it.
if not isBulk and tokens >= wanted then redis.call('SET', KEYS[5], tokens, 'PX', wait + tonumber(ARGV[8])) end
return wait
