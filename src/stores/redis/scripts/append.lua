-- Takes all submissions of one tick for one shard: limit, idempotency, state, quota and the stream entry, all or nothing each.
-- KEYS[1] the shard's stream. ARGV: prefix, window of the limit in ms, seconds to remember keys and responses, seconds to keep the answers of open ones,
--   number of surveys, (survey id, expected revision) each, then
--   either a group of whole responses under new ids from one caller, of which nothing need be remembered, five fields:
--   1 survey index (from 1) · 2 caller to count the limit under ('' = already counted) · 3 limit · 4 rows, a line each · 5 how many
--   or a submission by itself, thirteen fields: the first four as above with one row, then
--   5 '+' · 6 refusal ('' = none) · 7 idempotency key ('' = none) · 8 digest of the body · 9 isComplete '1'/'0'
--   10 response id · 11 versions seen ('' = a new id of our own that keeps no state) · 12 reply · 13 state to keep for resuming ('' = none)
-- Returns for each group 'ms-until-the-window-ends counted passed accepted code isFilled': of its submissions, in order, those past
--   `passed` are over the limit, the first `accepted` are accepted (the last of them fills the quota if isFilled), `code` is for those between;
--   for each single 'code remaining ms-until-the-window-ends text'.
local prefix, windowMs, memoryTtl, answersTtl = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local ACCEPTED, FILLED, REPLAY, MISMATCH, LIMITED, STALE, REFUSED, QUOTA, CHANGED, COMPLETE, UNKNOWN, HELD, NEWER = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12

-- While a survey is held back nothing is accepted: somebody makes sure that nobody answers what he is about to change.
local function isHeld(untilMs)
  if not untilMs then return false end
  local now = redis.call('TIME')
  return tonumber(untilMs) > now[1] * 1000 + now[2] / 1000
end

local surveys, at = {}, 6
for i = 1, tonumber(ARGV[5]) do
  local key = prefix .. 'survey:' .. ARGV[at]
  local found = redis.call('HMGET', key, 'rev', 'quota', 'total', 'completed', 'filled', 'codes', 'held')
  surveys[i] = {
    id = ARGV[at], key = key, isKnown = found[1], isCurrent = found[1] == ARGV[at + 1], isHeld = isHeld(found[7]), quota = tonumber(found[2] or ''),
    total = tonumber(found[3] or 0), completed = tonumber(found[4] or 0), isFilled = found[5] == '1', newRows = 0, newTotal = 0, newCompleted = 0,
    codes = tonumber(found[6] or 0),
  }
  at = at + 2
end

local rows, rowCount, fillings, results, codes = {}, 0, {}, {}, 0

local function fill(survey)
  survey.isFilled = true
  redis.call('HSET', survey.key, 'filled', '1')
  fillings[#fillings + 1] = survey.id
end

-- Limit first: what follows may refuse, but it has been counted. Gives the count after these and the window's end.
local function countLimit(survey, caller, n)
  if caller == '' then return -1, 0 end
  local name = prefix .. 'limit:' .. survey.id .. ':' .. caller
  local count = redis.call('INCRBY', name, n)
  if count == n then
    redis.call('PEXPIRE', name, windowMs)
    return count, windowMs
  end
  return count, redis.call('PTTL', name)
end

local function firstLines(text, n)
  local at = 0
  for _ = 1, n do at = string.find(text, '\n', at + 1, true) end
  return string.sub(text, 1, at - 1)
end

local function acceptGroup(survey, passed, n, i)
  if not survey.isKnown then return 0, UNKNOWN, 0 end
  if not survey.isCurrent then return 0, STALE, 0 end
  if survey.isHeld then return 0, HELD, 0 end
  if survey.isFilled then return 0, QUOTA, 0 end
  local seats = survey.quota and math.max(0, survey.quota - survey.completed - survey.newCompleted)
  local accepted = seats and math.min(passed, seats) or passed
  if accepted > 0 then
    survey.newRows, survey.newTotal, survey.newCompleted = survey.newRows + accepted, survey.newTotal + accepted, survey.newCompleted + accepted
    rows[#rows + 1] = accepted == n and ARGV[i + 3] or firstLines(ARGV[i + 3], accepted)
    rowCount = rowCount + accepted
    if survey.codes > codes then codes = survey.codes end
  end
  local isFilled = passed > 0 and accepted == seats
  if isFilled then fill(survey) end
  return accepted, QUOTA, (isFilled and accepted > 0) and 1 or 0
end

local function takeGroup(survey, i)
  local n, limit = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 2])
  local count, left = countLimit(survey, ARGV[i + 1], n)
  local passed = count < 0 and n or math.max(0, math.min(n, limit - count + n))
  local accepted, code, isFilled = acceptGroup(survey, passed, n, i)
  return left .. ' ' .. count .. ' ' .. passed .. ' ' .. accepted .. ' ' .. code .. ' ' .. isFilled
end

-- States lay in a name space of the shard's own before.
local function moveFormer(stateName)
  local former = prefix .. stateName
  if redis.call('EXISTS', former) == 1 then redis.call('RENAMENX', former, stateName) end
end

-- What differs from reply to reply, short enough for Redis to keep the fields of a hash in one piece; the rest follows from the response's id.
local function brief(reply)
  local varying = string.match(reply, '"isComplete":%a+,"submittedAt":"[^"]*"')
  return varying and '{' .. varying .. '}' or reply
end

-- Remembers a response that was accepted. The answers, of which there may be a lot, for as long as the response store may be without them.
local function remember(survey, i, kept)
  local stateName, answersName = 'response:' .. ARGV[i + 9], 'answers:' .. ARGV[i + 9]
  local isComplete, n = ARGV[i + 8] == '1', (tonumber(ARGV[i + 10]) or 0) + 1
  redis.call('HSET', stateName, 'n', n, 'done', isComplete and '1' or '0', 'digest', ARGV[i + 7], 'reply', brief(ARGV[i + 11]), 'survey', survey.id)
  if kept[1] == '1' then redis.call('HSET', stateName, 'first', kept[3]) end
  -- Answers lay in the state before.
  if kept[1] then redis.call('HDEL', stateName, 'data') end
  redis.call('EXPIRE', stateName, memoryTtl)
  if not isComplete then redis.call('SET', answersName, n .. ':' .. ARGV[i + 12], 'EX', answersTtl)
  elseif n > 1 then redis.call('DEL', answersName) end
end

-- Whether the response that this row belongs to has been deleted a short while ago: of several under its id the one that was submitted at that moment.
local function isRemoved(responseId, row)
  local removed = redis.call('GET', prefix .. 'removed:' .. responseId)
  if not removed then return false end
  local moment = string.match(row, '^%["[^"]*","[^"]*",(%d+),')
  -- Former versions noted no moment.
  return removed == '1' or not moment or string.find(',' .. removed .. ',', ',' .. moment .. ',', 1, true) ~= nil
end

local function decide(survey, i)
  local idempotencyKey, digest, isComplete, responseId, seen = ARGV[i + 6], ARGV[i + 7], ARGV[i + 8] == '1', ARGV[i + 9], ARGV[i + 10]
  local idempotencyName = idempotencyKey ~= '' and (prefix .. 'idem:' .. survey.id .. ':' .. idempotencyKey)
  if idempotencyName then
    local known = redis.call('GET', idempotencyName)
    if known then
      -- What a newer version keeps in another form begins so; of a response's state it says so as `v`.
      if string.byte(known) == 33 then return NEWER, '' end
      if string.sub(known, 1, #digest) == digest then return REPLAY, string.sub(known, #digest + 1) end
      return MISMATCH, ''
    end
  end
  local kept = {}
  if seen ~= '' then
    local stateName = 'response:' .. responseId
    moveFormer(stateName)
    kept = redis.call('HMGET', stateName, 'n', 'done', 'digest', 'reply', 'survey', 'first', 'v')
    if kept[7] and kept[7] ~= '1' then return NEWER, '' end
    if kept[1] then
      if kept[5] ~= survey.id then return MISMATCH, '' end
      if kept[3] == digest then return REPLAY, kept[4] end
      if kept[6] == digest then return REPLAY, (string.gsub(kept[4], '"isComplete":true', '"isComplete":false', 1)) end
      if seen == '0' then return MISMATCH, '' end
      if kept[2] == '1' then return COMPLETE, '' end
      if kept[1] ~= seen then return CHANGED, '' end
    -- Of what is no longer remembered, the caller has asked the response store; but it may have been deleted since.
    elseif seen ~= '0' and isRemoved(responseId, ARGV[i + 3]) then return CHANGED, '' end
  end
  if not survey.isKnown then return UNKNOWN, '' end
  if not survey.isCurrent then return STALE, '' end
  if survey.isHeld then return HELD, '' end
  if ARGV[i + 5] ~= '' then return REFUSED, ARGV[i + 5] end
  if survey.isFilled then return QUOTA, '' end
  if survey.quota and survey.completed + survey.newCompleted >= survey.quota then
    fill(survey)
    return QUOTA, ''
  end

  local isFirst = seen == '' or seen == '0'
  survey.newRows = survey.newRows + 1
  if isFirst then survey.newTotal = survey.newTotal + 1 end
  if isComplete then survey.newCompleted = survey.newCompleted + 1 end
  rows[#rows + 1] = ARGV[i + 3]
  rowCount = rowCount + 1
  if survey.codes > codes then codes = survey.codes end
  if idempotencyName then redis.call('SET', idempotencyName, digest .. ARGV[i + 11], 'EX', memoryTtl) end
  if seen ~= '' or ARGV[i + 12] ~= '' then remember(survey, i, kept) end
  if survey.quota and isComplete and survey.completed + survey.newCompleted == survey.quota then
    fill(survey)
    return FILLED, ''
  end
  return ACCEPTED, ''
end

local function takeSingle(survey, i)
  local count, left = countLimit(survey, ARGV[i + 1], 1)
  local limit = tonumber(ARGV[i + 2])
  if count > limit then return LIMITED .. ' 0 ' .. left .. ' ' end
  local code, text = decide(survey, i)
  return code .. ' ' .. (count < 0 and -1 or limit - count) .. ' ' .. left .. ' ' .. text
end

local i = at
while i <= #ARGV do
  local survey = surveys[tonumber(ARGV[i])]
  if ARGV[i + 4] == '+' then
    results[#results + 1] = takeSingle(survey, i)
    i = i + 13
  else
    results[#results + 1] = takeGroup(survey, i)
    i = i + 5
  end
end

local touched = {}
for i = 1, #surveys do
  local survey = surveys[i]
  -- One that goes on with a response and leaves it open counts nowhere, and yet changes what there is.
  if survey.newRows > 0 then
    redis.call('HINCRBY', survey.key, 'total', survey.newTotal)
    redis.call('HINCRBY', survey.key, 'completed', survey.newCompleted)
    touched[#touched + 1] = survey.id
  end
end

if rowCount > 0 or #fillings > 0 then
  redis.call('XADD', KEYS[1], '*', 'n', rowCount, 'codes', codes, 'surveys', table.concat(touched, ','), 'filled', table.concat(fillings, ','), 'rows', table.concat(rows, '\n'))
end
return results
