-- Takes all submissions of one tick for one shard: limit, idempotency, state, quota and the stream entry, all or nothing each.
-- KEYS[1] the shard's stream. ARGV: prefix, window of the limit in ms, seconds to keep done / open responses' state,
--   number of surveys, (survey id, expected revision) each, then five fields a submission:
--   1 survey index (from 1) · 2 limit key ('' = already counted) · 3 limit · 4 row · 5 '' = a whole response under a new id, nothing else,
--   or '+' and eight more: 6 refusal ('' = none) · 7 idempotency key ('' = none) · 8 digest of the body · 9 isComplete '1'/'0'
--   10 response id · 11 versions seen ('' = a new id of our own that keeps no state) · 12 reply · 13 state to keep for resuming ('' = none)
-- Returns for each: 'code remaining ms-until-the-window-ends text'.
local prefix, windowMs, doneTtl, openTtl = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local ACCEPTED, FILLED, REPLAY, MISMATCH, LIMITED, STALE, REFUSED, QUOTA, CHANGED, COMPLETE, UNKNOWN = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

local surveys, at = {}, 6
for i = 1, tonumber(ARGV[5]) do
  local key = prefix .. 'survey:' .. ARGV[at]
  local found = redis.call('HMGET', key, 'rev', 'quota', 'total', 'completed', 'filled', 'codes')
  surveys[i] = {
    id = ARGV[at], key = key, isKnown = found[1], isCurrent = found[1] == ARGV[at + 1], quota = tonumber(found[2] or ''),
    total = tonumber(found[3] or 0), completed = tonumber(found[4] or 0), isFilled = found[5] == '1', newTotal = 0, newCompleted = 0,
    codes = tonumber(found[6] or 0),
  }
  at = at + 2
end

local rows, fillings, results, codes = {}, {}, {}, 0

local function fill(survey)
  survey.isFilled = true
  redis.call('HSET', survey.key, 'filled', '1')
  fillings[#fillings + 1] = survey.id
end

-- Limit first: what follows may refuse, but it has been counted. Callers of one tick share the look at the window's end.
local ends = {}
local function countLimit(key, limit)
  if key == '' then return -1, 0, false end
  local name = prefix .. 'limit:' .. key
  local count = redis.call('INCR', name)
  if count == 1 then redis.call('PEXPIRE', name, windowMs) end
  local left = ends[key] or redis.call('PTTL', name)
  ends[key] = left
  return math.max(0, limit - count), left, count > limit
end

local function decide(survey, i)
  local isPlain = ARGV[i + 4] == ''
  local idempotencyKey, digest, isComplete, responseId, seen, reply, state = '', '', true, '', '', '', ''
  if not isPlain then
    idempotencyKey, digest, isComplete, responseId, seen = ARGV[i + 6], ARGV[i + 7], ARGV[i + 8] == '1', ARGV[i + 9], ARGV[i + 10]
    reply, state = ARGV[i + 11], ARGV[i + 12]
  end
  local idempotencyName = idempotencyKey ~= '' and (prefix .. 'idem:' .. survey.id .. ':' .. idempotencyKey)
  if idempotencyName then
    local known = redis.call('GET', idempotencyName)
    if known then
      if string.sub(known, 1, #digest) == digest then return REPLAY, string.sub(known, #digest + 1) end
      return MISMATCH, ''
    end
  end
  local stateName = prefix .. 'response:' .. responseId
  if seen ~= '' then
    local kept = redis.call('HMGET', stateName, 'n', 'done', 'digest', 'reply')
    if kept[1] then
      if kept[3] == digest then return REPLAY, kept[4] end
      if seen == '0' then return MISMATCH, '' end
      if kept[2] == '1' then return COMPLETE, '' end
      if kept[1] ~= seen then return CHANGED, '' end
    elseif seen ~= '0' then return CHANGED, '' end
  end
  if not survey.isKnown then return UNKNOWN, '' end
  if not survey.isCurrent then return STALE, '' end
  if not isPlain and ARGV[i + 5] ~= '' then return REFUSED, ARGV[i + 5] end
  if survey.isFilled then return QUOTA, '' end
  if survey.quota and survey.completed + survey.newCompleted >= survey.quota then
    fill(survey)
    return QUOTA, ''
  end

  local isFirst = seen == '' or seen == '0'
  if isFirst then survey.newTotal = survey.newTotal + 1 end
  if isComplete then survey.newCompleted = survey.newCompleted + 1 end
  rows[#rows + 1] = ARGV[i + 3]
  if survey.codes > codes then codes = survey.codes end
  if idempotencyName then redis.call('SET', idempotencyName, digest .. reply, 'EX', doneTtl) end
  if seen ~= '' or state ~= '' then
    local n = (tonumber(seen) or 0) + 1
    redis.call('HSET', stateName, 'n', n, 'done', isComplete and '1' or '0', 'digest', digest, 'reply', reply, 'data', state, 'survey', survey.id)
    redis.call('EXPIRE', stateName, isComplete and doneTtl or openTtl)
  end
  if survey.quota and isComplete and survey.completed + survey.newCompleted == survey.quota then
    fill(survey)
    return FILLED, ''
  end
  return ACCEPTED, ''
end

local n, i = 0, at
while i <= #ARGV do
  local survey = surveys[tonumber(ARGV[i])]
  local remaining, left, isOver = countLimit(ARGV[i + 1], tonumber(ARGV[i + 2]))
  local code, text = LIMITED, ''
  if not isOver then code, text = decide(survey, i) end
  n = n + 1
  results[n] = code .. ' ' .. remaining .. ' ' .. left .. ' ' .. text
  i = i + (ARGV[i + 4] == '' and 5 or 13)
end

local touched = {}
for i = 1, #surveys do
  local survey = surveys[i]
  if survey.newTotal > 0 or survey.newCompleted > 0 then
    redis.call('HINCRBY', survey.key, 'total', survey.newTotal)
    redis.call('HINCRBY', survey.key, 'completed', survey.newCompleted)
    touched[#touched + 1] = survey.id
  end
end

if #rows > 0 or #fillings > 0 then
  redis.call('XADD', KEYS[1], '*', 'n', #rows, 'codes', codes, 'surveys', table.concat(touched, ','), 'filled', table.concat(fillings, ','), 'rows', table.concat(rows, '\n'))
end
return results
