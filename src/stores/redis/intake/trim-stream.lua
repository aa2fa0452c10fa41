-- Trims a shard's stream up to an id, but not beyond what both readers have read: what is stored (`acked`) and what is
-- dispatched to webhooks and quotas (`handed-on`). KEYS[1] the stream.
-- ARGV: prefix, id of the first entry to be retained. Returns the number of removed entries.
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
local from = ARGV[2]
for _, id in ipairs({ idAfter(acked), idAfter(dispatched) }) do
  if isBefore(id, from) then from = id end
end
return redis.call('XTRIM', KEYS[1], 'MINID', from)
