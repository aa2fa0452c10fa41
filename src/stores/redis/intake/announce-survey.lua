-- Writes what the intake must know of a survey's row. KEYS[1] the survey's hash, KEYS[2] the hash of its quotas by cell
-- (append.lua says what stands there), KEYS[3] the set of surveys whose quotas must be counted,
-- KEYS[4] the shard's stream.
-- ARGV: revision, quota ('' = none), code positions, total and completed (used only where the intake does not know
--   them), revision to be overruled ('' = none): that of a deleted survey which the database has again, the survey's id,
--   1 if a full quota still has to close the survey, number of active quotas by cell, then for each: code, limit, rule, version of its condition, `id:name`, then for
--   each collector whose completed responses are counted: code, quota ('' = none), completed responses (used only where
--   the intake does not know the survey).
-- Returns 1 when written, 0 when the intake already knows this revision or a newer one.
local rev = redis.call('HGET', KEYS[1], 'rev')
if rev == ARGV[6] then redis.call('PERSIST', KEYS[1])
elseif rev and tonumber(rev) >= tonumber(ARGV[1]) then return 0 end
local isNew = redis.call('HSETNX', KEYS[1], 'total', ARGV[4]) == 1
redis.call('HSETNX', KEYS[1], 'completed', ARGV[5])
-- A new revision ends the freeze: whoever froze the survey saves this revision, or finds that the survey has changed.
if rev then redis.call('HDEL', KEYS[1], 'held', 'filledByQuota') end
redis.call('HSET', KEYS[1], 'rev', ARGV[1], 'quota', ARGV[2], 'codes', ARGV[3])

-- The count of a quota that is new or counts something else begins at 0; the responses of before are added later.
local isFull, noteReached, announceReached, noteClosing = fillings(KEYS[2], KEYS[1], KEYS[4], ARGV[7])
local known, mustCount, isLimited, mustClose = {}, false, false, false
for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
  if string.sub(field, 1, 1) == 'v' then known[string.sub(field, 2)] = true end
end
for i = 10, 10 + 5 * tonumber(ARGV[9]) - 5, 5 do
  local code = ARGV[i]
  known[code] = nil
  isLimited = isLimited or string.sub(ARGV[i + 2], 2, 2) ~= 'N'
  local before = redis.call('HMGET', KEYS[2], 'v' .. code, 'c' .. code, 'l' .. code, 'n' .. code, 'r' .. code)
  redis.call('HSET', KEYS[2], 'l' .. code, ARGV[i + 1], 'r' .. code, ARGV[i + 2], 'a' .. code, ARGV[i + 4])
  if before[1] == ARGV[i + 3] then
    -- A limit that is lowered to the count fills the quota; of one that is being counted nobody knows yet. A full one
    -- that is changed closes the survey where it shall.
    local count = tonumber(before[2] or 0)
    if not before[4] and isFull(count, tonumber(ARGV[i + 1])) then
      local closes = string.sub(ARGV[i + 2], 2, 2) == 'C'
      mustClose = mustClose or closes
      if not isFull(count, tonumber(before[3])) then noteReached(code, count)
      elseif closes and (before[3] ~= ARGV[i + 1] or before[5] ~= ARGV[i + 2]) then noteClosing() end
    end
  else
    redis.call('HSET', KEYS[2], 'v' .. code, ARGV[i + 3], 'c' .. code, '0', 'n' .. code, '1')
    redis.call('HDEL', KEYS[2], 'd' .. code)
    mustCount = true
  end
end
for code in pairs(known) do
  -- `f` stays: each time a quota is reached is announced under another number.
  redis.call('HDEL', KEYS[2], 'c' .. code, 'l' .. code, 'r' .. code, 'n' .. code, 'v' .. code, 'd' .. code,
    'a' .. code)
end
-- A new revision lets seats that are free be taken. Where a quota by cell has closed the survey, and is still full, the
-- survey stays filled until it is announced as closed: a change at the same time as the filling opens nothing.
if not (ARGV[8] == '1' and mustClose) then redis.call('HSET', KEYS[1], 'filled', '0') end
announceReached()
-- An intake that was emptied has lost the seats that were taken: nothing is accepted until they are counted again.
if not isLimited then redis.call('HDEL', KEYS[1], 'uncounted')
elseif isNew and tonumber(ARGV[4]) > 0 then redis.call('HSET', KEYS[1], 'uncounted', '1') end
if mustCount then redis.call('SADD', KEYS[3], ARGV[7]) end

-- Responses are counted by collector from its first announcement, when it has none yet. All that were accepted while
-- none was counted came by the default collector (code 0): it has what the others have not.
local firstCollector, ofOthers = 10 + 5 * tonumber(ARGV[9]), 0
for i = firstCollector, #ARGV, 3 do
  local code = ARGV[i]
  if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], 'quota:' .. code)
  else redis.call('HSET', KEYS[1], 'quota:' .. code, ARGV[i + 1]) end
  if code ~= '0' then
    redis.call('HSETNX', KEYS[1], 'completed:' .. code, isNew and ARGV[i + 2] or 0)
    ofOthers = ofOthers + tonumber(redis.call('HGET', KEYS[1], 'completed:' .. code))
  end
end
if #ARGV >= firstCollector then
  local completed = tonumber(redis.call('HGET', KEYS[1], 'completed'))
  redis.call('HSET', KEYS[1], 'completed:0', math.max(0, completed - ofOthers))
else redis.call('HDEL', KEYS[1], 'completed:0') end
return 1
