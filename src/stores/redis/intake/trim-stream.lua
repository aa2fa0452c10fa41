-- Trims a shard's stream up to an id, but not beyond what both readers have read: what is stored (`acked`) and what is
-- dispatched to webhooks and quotas (`handed-on`). KEYS[1] the stream.
-- ARGV: prefix, id of the first entry to be retained, ms for which an entry stays after it was acknowledged ('0': the
-- memory is needed at once). Returns the number of removed entries.
local function parts(id)
  local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(sequence)
end
local function isBefore(one, other)
  local oneMs, oneSequence = parts(one)
  local otherMs, otherSequence = parts(other)
  return oneMs < otherMs or (oneMs == otherMs and oneSequence < otherSequence)
end
-- The smallest id after this one.
local function idAfter(id)
  local ms, sequence = parts(id)
  return string.format('%.0f-%.0f', ms, sequence + 1)
end
local acked = redis.call('GET', ARGV[1] .. 'acked') or '0-0'
local dispatched = redis.call('GET', ARGV[1] .. 'handed-on') or acked
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local staysMs = tonumber(ARGV[3])

-- Ids ahead of the clock are from before it was set back, and say nothing of the time: the marks below do.
local function isAheadOfClock()
  if redis.call('EXISTS', KEYS[1]) == 0 then return false end
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return parts(info[i + 1]) > now + 60000 end
  end
end
local from = ARGV[2]
if staysMs > 0 and isAheadOfClock() then from = idAfter(acked) end
for _, id in ipairs({ idAfter(acked), idAfter(dispatched) }) do
  if isBefore(id, from) then from = id end
end

-- Which entry was the last acknowledged one, and since when at least, in the time of this server: one mark in 30
-- seconds, for 25 hours and more.
local marks = ARGV[1] .. 'acked-at'
-- Marks of the future are those of a clock that was set back. This write also lets the script write although the memory
-- is full: see write-as-owner.lua.
redis.call('ZREMRANGEBYSCORE', marks, '(' .. now, '+inf')
local newest = redis.call('ZRANGE', marks, -1, -1, 'WITHSCORES')
if not newest[2] or now - newest[2] >= 30000 then
  redis.call('ZADD', marks, 'NX', now, acked)
  redis.call('ZREMRANGEBYRANK', marks, 0, -3001)
end
if staysMs > 0 then
  local mark = redis.call('ZREVRANGEBYSCORE', marks, now - staysMs, '-inf', 'LIMIT', 0, 1)[1]
  local oldest = mark and idAfter(mark) or '0-0'
  if isBefore(oldest, from) then from = oldest end
end

local removed = redis.call('XTRIM', KEYS[1], 'MINID', from)
if removed > 0 then redis.call('SET', ARGV[1] .. 'trimmed', from) end
return removed
