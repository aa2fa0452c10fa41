-- Takes all submissions of one tick for one shard: limit, idempotency, state, quota and the stream entry, all or nothing each.
-- KEYS[1] the shard's stream. ARGV: prefix, window of the limit in ms, seconds to remember responses, seconds to keep the answers of open ones,
--   bytes that a survey may have waiting for the response store (-1: any number), bytes that a caller may send in large rows in a window,
--   number of surveys, (survey id, expected revision) each, then
--   either a group of whole responses under new ids from one caller, of which nothing need be remembered, five fields:
--   1 survey index (from 1) · 2 caller to count the limit under ('' = already counted) · 3 limit · 4 rows, a line each · 5 how many
--   or several of one caller that are looked at one by one: the same fields with '' for the rows, then for each:
--   1 what names it, in one text: isComplete '1'/'0' · '1' when the response store was asked and knows no record of key and id · '1' when it is refused unless
--     it is a repeat · '1' when the last two fields are given · submitted at, in ms to base 36 (8) · digest of the body (12) · idempotency key, hashed (24) · response id, hashed, where a client made it (24) ·
--     versions seen ('' = a new id of our own that keeps no state) · while a former version may have taken it: a blank, the digest (12) and the key as that kept
--     them; what there is none of is blank
--   2 row · 3 idempotency records for the response store, a line each ('' = none)
--   and of a response that may be continued, or was: 4 response id · 5 state to keep for resuming ('' = none)
-- Returns for each group 'ms-until-the-window-ends counted passed accepted code isFilled': of its submissions, in order, those past
--   `passed` are over the limit, the first `accepted` are accepted (the last of them fills the quota if isFilled), `code` is for those between;
--   for each single 'code remaining ms-until-the-window-ends text'.
local prefix, windowMs, memoryTtl, answersTtl = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local pendingAtMost, largeBytesAtMost = tonumber(ARGV[5]), tonumber(ARGV[6])
if pendingAtMost < 0 then pendingAtMost = nil end
-- ACCEPTED, FILLED and the other codes are locals that append-protocol.ts defines before this script.
local largeRow = 16384

-- While a survey is held back nothing is accepted: somebody makes sure that nobody answers what he is about to change.
-- After the clock was set back this lasts a minute at most from when it is noticed.
local freezeAtMost = 60000
local function isHeld(key, held)
  if not held then return false end
  local now = redis.call('TIME')
  local nowMs = now[1] * 1000 + now[2] / 1000
  local untilMs = tonumber(held)
  if untilMs > nowMs + freezeAtMost then
    redis.call('HSET', key, 'held', string.format('%d', nowMs + freezeAtMost) .. string.match(held, '%..*$'))
  end
  return untilMs > nowMs
end

local surveys, at = {}, 8
for i = 1, tonumber(ARGV[7]) do
  local key = prefix .. 'survey:' .. ARGV[at]
  local found = redis.call('HMGET', key, 'rev', 'quota', 'total', 'completed', 'filled', 'codes', 'held', 'pending')
  surveys[i] = {
    id = ARGV[at], key = key, isKnown = found[1], isCurrent = found[1] == ARGV[at + 1], isHeld = isHeld(key, found[7]), quota = tonumber(found[2] or ''),
    total = tonumber(found[3] or 0), completed = tonumber(found[4] or 0), isFilled = found[5] == '1', newRows = 0, newTotal = 0, newCompleted = 0, newBytes = 0,
    codes = tonumber(found[6] or 0), isCrowding = pendingAtMost ~= nil and tonumber(found[8] or 0) > pendingAtMost,
  }
  at = at + 2
end

local rows, rowCount, fillings, results, codes, records = {}, 0, {}, {}, 0, {}

local function fill(survey)
  survey.isFilled = true
  redis.call('HSET', survey.key, 'filled', '1')
  fillings[#fillings + 1] = survey.id
end

-- Ms until a counter's window ends. After the clock was set back it would last as much longer: then a window begins now.
local function windowLeft(name)
  local left = redis.call('PTTL', name)
  if left >= 0 and left <= windowMs then return left end
  redis.call('PEXPIRE', name, windowMs)
  return windowMs
end

-- Limit first: what follows may refuse, but it has been counted. Gives the count after these and the window's end. Each caller's counter is read and written
-- once, however many of its submissions travel by themselves.
local counters = {}
local function countLimit(survey, caller, n)
  if caller == '' then return -1, 0 end
  local name = prefix .. 'limit:' .. survey.id .. ':' .. caller
  local counter = counters[name]
  if counter then
    counter.count, counter.unwritten = counter.count + n, counter.unwritten + n
    return counter.count, counter.left
  end
  local count = redis.call('INCRBY', name, n)
  local left = windowMs
  if count == n then redis.call('PEXPIRE', name, windowMs) else left = windowLeft(name) end
  counters[name] = { count = count, left = left, unwritten = 0 }
  return count, left
end

-- Large rows count for their bytes too, over all surveys of the shard. Gives whether the caller has sent too many, and the window's end.
local function countLarge(caller, bytes)
  if caller == '' or bytes < largeRow then return false, 0 end
  local name = prefix .. 'bytes:' .. caller
  local sum = redis.call('INCRBY', name, bytes)
  if sum == bytes then redis.call('PEXPIRE', name, windowMs) end
  return sum > largeBytesAtMost, windowLeft(name)
end

local function firstLines(text, n)
  local at = 0
  for _ = 1, n do at = string.find(text, '\n', at + 1, true) end
  return string.sub(text, 1, at - 1)
end

local function add(survey, text, n)
  rows[#rows + 1] = text
  rowCount = rowCount + n
  survey.newRows, survey.newBytes = survey.newRows + n, survey.newBytes + #text
  if survey.codes > codes then codes = survey.codes end
end

local function acceptGroup(survey, passed, n, i)
  if not survey.isKnown then return 0, UNKNOWN, 0 end
  if not survey.isCurrent then return 0, STALE, 0 end
  if survey.isHeld then return 0, FROZEN, 0 end
  if survey.isFilled then return 0, QUOTA, 0 end
  if survey.isCrowding then return 0, FULL, 0 end
  local seats = survey.quota and math.max(0, survey.quota - survey.completed - survey.newCompleted)
  local accepted = seats and math.min(passed, seats) or passed
  if accepted > 0 then
    survey.newTotal, survey.newCompleted = survey.newTotal + accepted, survey.newCompleted + accepted
    add(survey, accepted == n and ARGV[i + 3] or firstLines(ARGV[i + 3], accepted), accepted)
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

-- Idempotency records. What was accepted lately is kept as a record of 48 bytes, in hashes small enough for Redis to keep each in one piece, by
-- generation: a generation goes once the response store has all of it. That a key was used is remembered for two days and more in sets of
-- integers, four bytes a key: by day, and in as many sets as keep each small. A key that is in no set is new; of one that is in a set and has no
-- record any more, the response store is asked. What days are over is dropped with the generations.
local recentBuckets, seenBuckets, keysABucket, lastLevel, daySeconds, seenDays = 4096, 256, 200, 6, 86400, 3
local idempotency

local function openIdempotency()
  if idempotency then return idempotency end
  local day = math.floor(tonumber(redis.call('TIME')[1]) / daySeconds)
  local counts = redis.call('HMGET', 'idem:seen', day, day - 1, day - 2)
  local levels = {}
  for i = 1, seenDays do
    local count, level = tonumber(counts[i] or 0), 0
    while level < lastLevel and count >= seenBuckets * keysABucket * 4 ^ level do level = level + 1 end
    levels[i] = count == 0 and -1 or level
  end
  local today = math.max(0, levels[1])
  -- Sets of before, in which a key may be: names without the bucket, and how many buckets.
  local others = {}
  for i = 1, seenDays do
    for level = 0, levels[i] do
      if i > 1 or level < today then others[#others + 1] = { 'idem:seen:' .. (day + 1 - i) .. ':' .. level .. ':', seenBuckets * 4 ^ level } end
    end
  end
  idempotency = {
    generation = tonumber(redis.call('GET', 'idem:generation') or 0), day = day, present = 'idem:seen:' .. day .. ':' .. today .. ':', buckets = seenBuckets * 4 ^ today,
    others = others, newKeys = 0, newBytes = 0,
  }
  return idempotency
end

-- A key is 24 hexadecimal digits: 8 choose the places, 14 are the name within them.
local function recentName(generation, place) return 'idem:recent:' .. generation .. ':' .. place % recentBuckets end
local function nameWithin(key) return string.sub(key, 9, 22) end
local function placeOf(key) return tonumber(string.sub(key, 1, 8), 16) end
local function numberOf(key) return string.format('%.0f', tonumber(string.sub(key, 9, 16), 16) - 2147483648) end

-- What is known of a key: nothing (then it counts as used from now on, until `forgive`), or the code for whoever sends it again.
-- A record: digest (12), isComplete, submitted at (8), and of a response's id the end of its survey's.
local function recall(key, digest, isAsked, surveyEnd)
  local memory, place, number = openIdempotency(), placeOf(key), numberOf(key)
  local wasSeen = redis.call('SADD', memory.present .. place % memory.buckets, number) == 0
  if not wasSeen then
    for i = 1, #memory.others do
      local other = memory.others[i]
      if redis.call('SISMEMBER', other[1] .. place % other[2], number) == 1 then
        wasSeen = true
        redis.call('SREM', memory.present .. place % memory.buckets, number)
        break
      end
    end
  end
  if not wasSeen then return nil end
  for generation = memory.generation, math.max(0, memory.generation - tonumber(redis.call('LLEN', 'idem:closed'))), -1 do
    local record = redis.call('HGET', recentName(generation, place), nameWithin(key))
    if record then
      if string.sub(record, 1, 12) ~= digest or string.sub(record, 22) ~= surveyEnd then return MISMATCH, '' end
      return REPLAY, string.sub(record, 13, 13) .. ' ' .. string.sub(record, 14, 21)
    end
  end
  if isAsked then return nil end
  return LOOKUP, ''
end

-- A key of a submission that was not accepted was not used. One that the response store was asked about stays in its set: it was there before.
local function forgive(key, isAsked)
  if isAsked then return end
  redis.call('SREM', idempotency.present .. placeOf(key) % idempotency.buckets, numberOf(key))
end

local function note(key, record)
  redis.call('HSET', recentName(idempotency.generation, placeOf(key)), nameWithin(key), record)
  idempotency.newKeys, idempotency.newBytes = idempotency.newKeys + 1, idempotency.newBytes + 48
end

-- Remembers an open response, or one that was open before. The answers, of which there may be a lot, for as long as the response store may be without them.
local function remember(survey, item, kept)
  local stateName, answersName = 'response:' .. item.responseId, 'answers:' .. item.responseId
  local n = (tonumber(item.seen) or 0) + 1
  local generation = openIdempotency().generation
  redis.call('HSET', stateName, 'n', n, 'done', item.isComplete and '1' or '0', 'digest', item.digest, 'at', item.at, 'survey', survey.id, 'gen', generation)
  if kept[1] == '1' then redis.call('HSET', stateName, 'first', string.sub(kept[3], 1, 12)) end
  -- A former version kept the answers, and a reply, in the state.
  if kept[1] then redis.call('HDEL', stateName, 'data', 'reply') end
  redis.call('EXPIRE', stateName, memoryTtl)
  redis.call('RPUSH', 'idem:open:' .. generation, item.responseId)
  idempotency.newBytes = idempotency.newBytes + 400
  if not item.isComplete then
    redis.call('SET', answersName, n .. ':' .. item.state, 'EX', answersTtl)
    idempotency.newBytes = idempotency.newBytes + #item.state + 100
  elseif n > 1 then redis.call('DEL', answersName) end
end

-- Whether the response that this row belongs to has been deleted a short while ago: of several under its id the one that was submitted at that moment.
local function isRemoved(item)
  local removed = redis.call('GET', prefix .. 'removed:' .. item.responseId)
  if not removed then return false end
  local moment = string.match(item.row, '^%["[^"]*","[^"]*",(%d+),')
  -- Former versions noted no moment.
  return removed == '1' or not moment or string.find(',' .. removed .. ',', ',' .. moment .. ',', 1, true) ~= nil
end

-- The reply to a repeat: what differs from reply to reply; a former version kept the reply itself.
local function replyOf(kept, isComplete)
  if kept[8] then return (isComplete and '1 ' or '0 ') .. kept[8] end
  return isComplete and kept[4] or (string.gsub(kept[4], '"isComplete":true', '"isComplete":false', 1))
end

local function isSame(item, kept)
  local digest = string.sub(kept, 1, 12)
  return digest == item.digest or digest == item.formerDigest
end

-- What is known of the response that a submission names: nothing, or the code that it meets.
local function recallResponse(survey, item, kept)
  if kept[7] and kept[7] ~= '1' then return NEWER, '' end
  if kept[1] then
    if kept[5] ~= survey.id then return MISMATCH, '' end
    if isSame(item, kept[3]) then return REPLAY, replyOf(kept, kept[2] == '1') end
    if kept[6] and isSame(item, kept[6]) then return REPLAY, replyOf(kept, false) end
    if item.seen == '0' then
      -- Its first save may be known to the response store alone.
      if not kept[6] and tonumber(kept[1]) > 1 and not item.isAsked then return LOOKUP, '' end
      return MISMATCH, ''
    end
    if kept[2] == '1' then return COMPLETE, '' end
    if kept[1] ~= item.seen then return CHANGED, '' end
    return nil
  end
  -- Of what is no longer remembered, the caller has asked the response store; but it may have been deleted since.
  if item.seen ~= '0' then
    if isRemoved(item) then return CHANGED, '' end
    return nil
  end
  if item.idKey then
    local code, text = recall(item.idKey, item.digest, item.isAsked, string.sub(survey.id, -8))
    item.isIdUsed = not code
    return code, text
  end
end

-- A former version kept a key with the digest (43) and the reply; a newer one that keeps it in another form begins it with an exclamation mark.
local function recallFormer(survey, item)
  local known = redis.call('GET', prefix .. 'idem:' .. survey.id .. ':' .. item.formerKey)
  if not known then return nil end
  if string.byte(known) == 33 then return NEWER, '' end
  if isSame(item, known) then return REPLAY, string.sub(known, 44) end
  return MISMATCH, ''
end

local function decide(survey, item)
  if item.key then
    local code, text = recall(item.key, item.digest, item.isAsked, '')
    item.isKeyUsed = not code
    if not code and item.formerKey then code, text = recallFormer(survey, item) end
    if code then return code, text end
  end
  local kept = {}
  if item.seen ~= '' then
    kept = redis.call('HMGET', 'response:' .. item.responseId, 'n', 'done', 'digest', 'reply', 'survey', 'first', 'v', 'at')
    local code, text = recallResponse(survey, item, kept)
    if code then return code, text end
  end
  if not survey.isKnown then return UNKNOWN, '' end
  if not survey.isCurrent then return STALE, '' end
  if survey.isHeld then return FROZEN, '' end
  if item.isRefused then return REFUSED, '' end
  if survey.isFilled then return QUOTA, '' end
  if survey.isCrowding then return FULL, '' end
  if survey.quota and survey.completed + survey.newCompleted >= survey.quota then
    fill(survey)
    return QUOTA, ''
  end

  local isFirst = item.seen == '' or item.seen == '0'
  if isFirst then survey.newTotal = survey.newTotal + 1 end
  if item.isComplete then survey.newCompleted = survey.newCompleted + 1 end
  add(survey, item.row, 1)
  local record = item.digest .. (item.isComplete and '1' or '0') .. item.at
  if item.key then note(item.key, record) end
  if item.isIdUsed then note(item.idKey, record .. string.sub(survey.id, -8)) end
  -- Of a response that is complete at once the record says all.
  if item.state ~= '' or kept[1] or not isFirst then remember(survey, item, kept) end
  if item.records ~= '' then records[#records + 1] = item.records end
  if survey.quota and item.isComplete and survey.completed + survey.newCompleted == survey.quota then
    fill(survey)
    return FILLED, ''
  end
  return ACCEPTED, ''
end

local function given(text, from, to)
  if string.byte(text, from) == 32 then return nil end
  return string.sub(text, from, to)
end

-- Gives where the next begins, too.
local function readItem(i)
  local named = ARGV[i]
  local item = {
    row = ARGV[i + 1], records = ARGV[i + 2], isComplete = string.byte(named, 1) == 49, isAsked = string.byte(named, 2) == 49, isRefused = string.byte(named, 3) == 49,
    at = string.sub(named, 5, 12), digest = string.sub(named, 13, 24), key = given(named, 25, 48), idKey = given(named, 49, 72), seen = '', state = '',
  }
  if #named > 72 then
    local seen, former = string.match(named, '^(%-?%d*) ?(.*)$', 73)
    item.seen = seen
    if former ~= '' then item.formerDigest, item.formerKey = string.sub(former, 1, 12), #former > 12 and string.sub(former, 13) or nil end
  end
  if string.byte(named, 4) ~= 49 then return item, i + 3 end
  item.responseId, item.state = ARGV[i + 3], ARGV[i + 4]
  return item, i + 5
end

local function takeSingle(survey, caller, limit, item)
  local count, left = countLimit(survey, caller, 1)
  if count > limit then return LIMITED .. ' 0 ' .. left .. ' ' end
  local isTooMuch, bytesLeft = countLarge(caller, #item.row)
  if isTooMuch then return LIMITED .. ' 0 ' .. bytesLeft .. ' ' end
  local code, text = decide(survey, item)
  if code ~= ACCEPTED and code ~= FILLED then
    if item.isKeyUsed then forgive(item.key, item.isAsked) end
    if item.isIdUsed then forgive(item.idKey, item.isAsked) end
  end
  return code .. ' ' .. (count < 0 and -1 or limit - count) .. ' ' .. left .. ' ' .. text
end

local i = at
while i <= #ARGV do
  local survey = surveys[tonumber(ARGV[i])]
  if ARGV[i + 3] ~= '' then
    results[#results + 1] = takeGroup(survey, i)
    i = i + 5
  else
    local caller, limit, item, number = ARGV[i + 1], tonumber(ARGV[i + 2]), nil, tonumber(ARGV[i + 4])
    i = i + 5
    for _ = 1, number do
      item, i = readItem(i)
      results[#results + 1] = takeSingle(survey, caller, limit, item)
    end
  end
end

for name, counter in pairs(counters) do
  if counter.unwritten > 0 then redis.call('INCRBY', name, counter.unwritten) end
end

local touched, sizes, bytes = {}, {}, 0
for i = 1, #surveys do
  local survey = surveys[i]
  -- One that goes on with a response and leaves it open counts nowhere, and yet changes what there is.
  if survey.newRows > 0 then
    redis.call('HINCRBY', survey.key, 'total', survey.newTotal)
    redis.call('HINCRBY', survey.key, 'completed', survey.newCompleted)
    redis.call('HINCRBY', survey.key, 'pending', survey.newBytes)
    touched[#touched + 1], sizes[#sizes + 1], bytes = survey.id, survey.newBytes, bytes + survey.newBytes
  end
end

if idempotency and idempotency.newBytes > 0 then
  redis.call('HINCRBY', 'idem:generations', idempotency.generation, idempotency.newBytes)
  redis.call('HINCRBY', 'idem:seen', idempotency.day, idempotency.newKeys)
end

if rowCount > 0 or #fillings > 0 then
  local entry = { 'n', rowCount, 'codes', codes, 'surveys', table.concat(touched, ','), 'sizes', table.concat(sizes, ','), 'filled', table.concat(fillings, ','), 'rows', table.concat(rows, '\n') }
  if #records > 0 then
    entry[#entry + 1] = 'records'
    entry[#entry + 1] = table.concat(records, '\n')
  end
  redis.call('XADD', KEYS[1], '*', unpack(entry))
  redis.call('INCRBY', prefix .. 'pending', bytes)
end
return results
