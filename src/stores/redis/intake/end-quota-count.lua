-- Ends a count of the stored responses in a survey's quotas by cell. KEYS[1] the hash of its quotas, KEYS[2] the
-- survey's hash, KEYS[3] the set of surveys whose quotas must be counted, KEYS[4] the shard's stream.
-- ARGV: the name of this count, the survey's id, the number of deletions (field `removals`) when it was frozen for this
-- count, number of accepted responses that may lack among the counted, by how many fewer of the counted are COMPLETED,
-- then for each quota: code, version of the condition that was counted, number of stored responses in it.
-- Any of those that lack may have a seat in any quota: a known count is lowered by no more than leaves them theirs. A
-- quota of completed responses has only seats of COMPLETED ones. One of started responses may have a seat of each
-- response that lacks, and of each that is counted outside its cell because the save that completed it lacks.
-- Returns the sum of the differences to the counts that were known and that no deletion explains, or nothing where
-- another count has begun since.
if redis.call('HGET', KEYS[1], 'counting') ~= ARGV[1] then return nil end
local removals = redis.call('HGET', KEYS[1], 'removals') or '0'
local isExplained = removals ~= ARGV[3] or removals ~= (redis.call('HGET', KEYS[1], 'removalsCounted') or '0')
local isFull, noteReached, announceReached = fillings(KEYS[1], KEYS[2], KEYS[4], ARGV[2])
local difference = 0
local missingCompleted = tonumber(ARGV[5])
local missingSaves = tonumber(ARGV[4]) + missingCompleted
for i = 6, #ARGV, 3 do
  local code = ARGV[i]
  local values = redis.call('HMGET', KEYS[1], 'v' .. code, 'c' .. code, 'n' .. code, 'd' .. code, 'l' .. code,
    'r' .. code)
  if values[1] == ARGV[i + 1] then
    local count = tonumber(ARGV[i + 2]) + tonumber(values[4] or 0)
    if not values[3] then
      local missing = string.sub(values[6], 1, 1) == 'S' and missingSaves or missingCompleted
      count = math.max(count, math.min(tonumber(values[2]), count + missing))
    end
    if not values[3] and not isExplained then difference = difference + math.abs(count - tonumber(values[2])) end
    local limit = tonumber(values[5])
    if isFull(count, limit) and (values[3] or not isFull(tonumber(values[2]), limit)) then noteReached(code, count) end
    redis.call('HSET', KEYS[1], 'c' .. code, count)
    redis.call('HDEL', KEYS[1], 'n' .. code)
  end
  redis.call('HDEL', KEYS[1], 'd' .. code)
end
redis.call('HDEL', KEYS[1], 'counting')
announceReached()
redis.call('HSET', KEYS[1], 'removalsCounted', ARGV[3])
-- Whether the snapshot holds a response that was deleted meanwhile is unknown: then it is counted once more.
local isKnown = true
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 1) == 'n' then isKnown = false end
end
if isKnown then redis.call('HDEL', KEYS[2], 'uncounted') end
if isKnown and removals == ARGV[3] then redis.call('SREM', KEYS[3], ARGV[2]) end
return difference
