-- Removes entries older than an id from a shard's stream, but none that is not stored or not handed on yet. KEYS[1] the stream.
-- ARGV: prefix, id from which on entries are kept. Returns how many were removed.
local function parts(id)
  local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(sequence)
end
local function isBefore(one, other)
  local oneMs, oneSequence = parts(one)
  local otherMs, otherSequence = parts(other)
  return oneMs < otherMs or (oneMs == otherMs and oneSequence < otherSequence)
end
-- The first id that may stand behind this one.
local function behind(id)
  local ms, sequence = parts(id)
  return string.format('%.0f-%.0f', ms, sequence + 1)
end
local acked = redis.call('GET', ARGV[1] .. 'acked') or '0-0'
local handedOn = redis.call('GET', ARGV[1] .. 'handed-on') or acked
local from = ARGV[2]
for _, id in ipairs({ behind(acked), behind(handedOn) }) do
  if isBefore(id, from) then from = id end
end
return redis.call('XTRIM', KEYS[1], 'MINID', from)
