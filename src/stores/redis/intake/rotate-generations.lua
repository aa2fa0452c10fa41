-- Bounds the memory of idempotency records: closes the present generation when it is large, old, or memory is needed
-- and no closed one waits to be dropped, drops closed generations once the response store has their records, and drops
-- the sets of days that are over.
-- KEYS: the shards' streams. ARGV: maximum bytes of a generation, maximum ms that it is open, maximum number of closed
--   generations, '1' when memory is needed, minimum ms between closing and dropping, then each shard's prefix.
-- Returns '1' when there is more to drop at once.
local recentBuckets, usedBuckets, lastLevel, daySeconds, usedDays = 4096, 256, 6, 86400, 3
local idsAtOnce, keysAtOnce, setsAtOnce = 1000, 256, 2048
local overMs = 3600000
local maxBytes, maxOpenMs, maxClosed = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local isMemoryNeeded, minClosedMs = ARGV[4] == '1', tonumber(ARGV[5])
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
local function isAtOrAfter(one, other)
  local oneMs, oneSequence = parts(one)
  local otherMs, otherSequence = parts(other)
  return oneMs > otherMs or (oneMs == otherMs and oneSequence >= otherSequence)
end

-- Lets the script write although the memory is full: see write-as-owner.lua.
redis.call('DEL', ARGV[6] .. 'nothing')
local generation = tonumber(redis.call('GET', 'idem:generation') or 0)
local bytes = tonumber(redis.call('HGET', 'idem:generations', generation) or 0)
if bytes > 0 then
  -- The time at which this script first met the generation. A clock that is set back only makes it younger.
  redis.call('HSETNX', 'idem:opened', generation, nowMs)
  local ageMs = nowMs - tonumber(redis.call('HGET', 'idem:opened', generation))
  -- Behind a closed generation another one frees nothing sooner, and a key is looked for in each of them.
  local freesMemory = isMemoryNeeded and redis.call('LLEN', 'idem:closed') == 0
  if bytes >= maxBytes or ageMs >= maxOpenMs or freesMemory then
    for i = 1, #KEYS do redis.call('HSET', 'idem:closed:' .. generation, ARGV[5 + i], lastId(KEYS[i])) end
    redis.call('HSET', 'idem:closed:' .. generation, 'at', nowMs)
    redis.call('HDEL', 'idem:opened', generation)
    redis.call('RPUSH', 'idem:closed', generation)
    redis.call('SET', 'idem:generation', generation + 1)
  end
end

-- Whether a day has been over for an hour. Its sets are kept for that time, since a clock that is ahead for a while
-- makes days be over too early.
local function isOverForLong(day, today)
  if tonumber(day) > today - usedDays then
    redis.call('HDEL', 'idem:over-since', day)
    return false
  end
  local since = tonumber(redis.call('HGET', 'idem:over-since', day) or nowMs)
  -- The clock may have been set back since.
  if since >= nowMs then redis.call('HSET', 'idem:over-since', day, nowMs) end
  return nowMs - since >= overMs
end

-- Drops a day's sets, some at a time, in the order of their levels. `idem:over` counts those that are dropped.
local today = math.floor(tonumber(time[1]) / daySeconds)
for _, day in ipairs(redis.call('HKEYS', 'idem:seen')) do
  if isOverForLong(day, today) then
    local first = tonumber(redis.call('HGET', 'idem:over', day) or 0)
    local number, names = 0, {}
    for level = 0, lastLevel do
      local sets = usedBuckets * 4 ^ level
      for place = math.max(0, first - number), math.min(sets, first + setsAtOnce - number) - 1 do
        if place >= 0 and #names < setsAtOnce then
          names[#names + 1] = 'idem:seen:' .. day .. ':' .. level .. ':' .. place
        end
      end
      number = number + sets
    end
    for from = 1, #names, keysAtOnce do
      redis.call('UNLINK', unpack(names, from, math.min(#names, from + keysAtOnce - 1)))
    end
    if first + setsAtOnce >= number then
      redis.call('HDEL', 'idem:seen', day)
      redis.call('HDEL', 'idem:over', day)
      redis.call('HDEL', 'idem:over-since', day)
    else redis.call('HSET', 'idem:over', day, first + setsAtOnce) end
    break
  end
end

local oldest = redis.call('LINDEX', 'idem:closed', 0)
if not oldest or not (isMemoryNeeded or redis.call('LLEN', 'idem:closed') > maxClosed) then return '0' end
local closed = 'idem:closed:' .. oldest
local closedAt = tonumber(redis.call('HGET', closed, 'at') or 0)
if nowMs >= closedAt and nowMs - closedAt < minClosedMs then return '0' end
for i = 1, #KEYS do
  local goal = redis.call('HGET', closed, ARGV[5 + i]) or '0-0'
  if not isAtOrAfter(redis.call('GET', ARGV[5 + i] .. 'acked') or '0-0', goal) then return '0' end
end

-- Evicts open responses that were not saved again in a later generation, some at a time.
local open = 'idem:open:' .. oldest
local ids = redis.call('LPOP', open, idsAtOnce)
if ids then
  for _, id in ipairs(ids) do
    if redis.call('HGET', 'response:' .. id, 'gen') == oldest then
      redis.call('UNLINK', 'response:' .. id, 'answers:' .. id)
    end
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
