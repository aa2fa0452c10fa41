-- Keeps what is remembered of accepted submissions small: closes the present generation when it is large, old, or the memory is wanted, drops closed ones
-- once the response store has all of them, and the sets of days that are over. KEYS: the shards' streams. ARGV: bytes of a generation, ms that it is open, generations that are kept closed,
--   '1' when the memory is wanted, ms that a closed one stays however much the memory is wanted, then each shard's prefix.
-- Returns '1' when there is more to drop at once.
local recentBuckets, seenBuckets, lastLevel, daySeconds, seenDays = 4096, 256, 6, 86400, 3
local idsAtOnce, keysAtOnce, setsAtOnce = 1000, 256, 2048
local bytesAtMost, ageAtMost, keptAtMost, isWanted, leastAge = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1', tonumber(ARGV[5])
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local function lastId(stream)
  if redis.call('EXISTS', stream) == 0 then return '0-0' end
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return info[i + 1] end
  end
end
local function parts(id)
  local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(sequence)
end
local function isBehind(one, other)
  local oneMs, oneSequence = parts(one)
  local otherMs, otherSequence = parts(other)
  return oneMs > otherMs or (oneMs == otherMs and oneSequence >= otherSequence)
end

local generation = tonumber(redis.call('GET', 'idem:generation') or 0)
local bytes = tonumber(redis.call('HGET', 'idem:generations', generation) or 0)
if bytes > 0 then
  -- When it was first seen; a clock that was set back makes it young again, and no more than that.
  redis.call('HSETNX', 'idem:opened', generation, nowMs)
  local ageMs = nowMs - tonumber(redis.call('HGET', 'idem:opened', generation))
  if bytes >= bytesAtMost or ageMs >= ageAtMost or isWanted then
    for i = 1, #KEYS do redis.call('HSET', 'idem:closed:' .. generation, ARGV[5 + i], lastId(KEYS[i])) end
    redis.call('HSET', 'idem:closed:' .. generation, 'at', nowMs)
    redis.call('HDEL', 'idem:opened', generation)
    redis.call('RPUSH', 'idem:closed', generation)
    redis.call('SET', 'idem:generation', generation + 1)
  end
end

-- A day's sets, a part at a time: their names follow from their numbers, level after level.
local today = math.floor(tonumber(time[1]) / daySeconds)
for _, day in ipairs(redis.call('HKEYS', 'idem:seen')) do
  if tonumber(day) <= today - seenDays then
    local first = tonumber(redis.call('HGET', 'idem:over', day) or 0)
    local number, names = 0, {}
    for level = 0, lastLevel do
      local sets = seenBuckets * 4 ^ level
      for place = math.max(0, first - number), math.min(sets, first + setsAtOnce - number) - 1 do
        if place >= 0 and #names < setsAtOnce then names[#names + 1] = 'idem:seen:' .. day .. ':' .. level .. ':' .. place end
      end
      number = number + sets
    end
    for from = 1, #names, keysAtOnce do redis.call('UNLINK', unpack(names, from, math.min(#names, from + keysAtOnce - 1))) end
    if first + setsAtOnce >= number then redis.call('HDEL', 'idem:seen', day); redis.call('HDEL', 'idem:over', day)
    else redis.call('HSET', 'idem:over', day, first + setsAtOnce) end
    break
  end
end

local oldest = redis.call('LINDEX', 'idem:closed', 0)
if not oldest or not (isWanted or redis.call('LLEN', 'idem:closed') > keptAtMost) then return '0' end
local closed = 'idem:closed:' .. oldest
local closedAt = tonumber(redis.call('HGET', closed, 'at') or 0)
if nowMs >= closedAt and nowMs - closedAt < leastAge then return '0' end
for i = 1, #KEYS do
  local goal = redis.call('HGET', closed, ARGV[5 + i]) or '0-0'
  if not isBehind(redis.call('GET', ARGV[5 + i] .. 'acked') or '0-0', goal) then return '0' end
end

-- Open responses that nothing was saved of since, a part at a time.
local open = 'idem:open:' .. oldest
local ids = redis.call('LPOP', open, idsAtOnce)
if ids then
  for _, id in ipairs(ids) do
    if redis.call('HGET', 'response:' .. id, 'gen') == oldest then redis.call('UNLINK', 'response:' .. id, 'answers:' .. id) end
  end
  return '1'
end
for from = 0, recentBuckets - 1, keysAtOnce do
  local names = {}
  for bucket = from, from + keysAtOnce - 1 do names[#names + 1] = 'idem:recent:' .. oldest .. ':' .. bucket end
  redis.call('UNLINK', unpack(names))
end
redis.call('UNLINK', closed, open)
redis.call('HDEL', 'idem:generations', oldest)
redis.call('LPOP', 'idem:closed')
return '1'
