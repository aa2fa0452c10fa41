-- Accepts or refuses the submissions of one tick and shard: limit, idempotency, state, quota and the stream entry, all
-- or nothing for each submission.
-- KEYS[1] the shard's stream. ARGV:
--   1 prefix · 2 window of the submission limit in ms · 3 seconds for which states of responses are kept
--   4 seconds for which answers of open responses are kept
--   5 bytes that a survey may have waiting for the response store (-1: any number)
--   6 bytes that a caller may send in large rows in a window
--   7 number of surveys, then for each: survey id, expected revision, codes of the quotas by cell that any of its
--     submissions names, by commas
--   then groups of submissions, each either whole responses under new ids of one caller, with no key and in the same
--   cells, in seven fields:
--     1 survey index (from 1) · 2 caller under which the limit is counted ('' = it was counted before) · 3 limit
--     4 rows, one a line · 5 number of rows · 6 cells: codes of the quotas by cell that they count for, by commas
--     7 code of the collector whose completed responses are counted ('' = none)
--   or several submissions of one caller that are decided one by one: the same seven fields with '' for rows and cells,
--   then for each submission:
--     1 its identity, one text of fixed width, blanks for what is missing:
--       outcome '0' partial, '1' completed, '2' screened out · isLookupDone: '1' when the response store has no record of key and id
--       mustRefuse: '1' when it is refused unless it is a repeat · hasState: '1' when fields 4 and 5 follow
--       submitted at, ms in base 36 (8) · digest of the body (12) · hash of the idempotency key (24)
--       hash of the response id, where a client made it (24)
--       observed version ('' = a new id of the service, of which no state is kept), and where it was looked for an @ and
--       the generation that was open then
--       for submissions that an earlier version may have accepted: a blank, digest (12) and key in the form of that
--       version
--       where there are quotas by cell, an invitation or paths: a tab and its cells, a tab and those in which its earlier
--       saves count, a tab and its invitation ('' = none), a tab and what its reply says of the path (`ignored`, '' =
--       the survey has no paths). An invitation: the mark of its token (16), '1' if the mark is to be set ('0': the
--       stream names the token's hash), the token's hash ('' with '1', and where it is not known)
--     2 row · 3 idempotency records for the response store, one a line ('' = none)
--     and where hasState is set: 4 response id · 5 state to save for resuming ('' = none)
-- Returns one text for each group: 'ms-until-the-window-ends counted passed accepted code isFilled seated fullCode', or
--   only 'ms-until-the-window-ends counted' where all of it is accepted with a seat, and fills nothing.
--   Of its submissions, in order, those past `passed` are over the limit, the first `accepted` are accepted (the last of
--   those seated fills the survey if isFilled is 1), and `code` is for those between. The accepted ones past `seated`
--   are over quota: the quota by cell with this code was full.
--   For each single submission: 'code remaining ms-until-the-window-ends text'; the text of OVER_QUOTA is the code of
--   the quota that was full.
-- ACCEPTED, FILLED and the other codes are locals that append-protocol.ts defines before this script.
local prefix, windowMs, stateTtl, answersTtl = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local maxPendingBytes, maxLargeBytes = tonumber(ARGV[5]), tonumber(ARGV[6])
if maxPendingBytes < 0 then maxPendingBytes = nil end
local largeRow = 16384

-- While a survey is frozen nothing is accepted: its change is saved only if nobody has answered, or the seats of its
-- quotas by cell are not known (`uncounted`, see announce-survey.lua). `frozenUntil`: the survey's field `held`. After
-- the clock was set back a freeze lasts a minute at most from when that is noticed.
local maxFreezeMs = 60000
local function isFrozen(key, frozenUntil)
  if not frozenUntil then return false end
  local now = redis.call('TIME')
  local nowMs = now[1] * 1000 + now[2] / 1000
  local untilMs = tonumber(frozenUntil)
  if untilMs > nowMs + maxFreezeMs then
    local bounded = string.format('%d', nowMs + maxFreezeMs) .. string.match(frozenUntil, '%..*$')
    redis.call('HSET', key, 'held', bounded)
  end
  return untilMs > nowMs
end

-- Numbers of arguments and texts of whole numbers. Lua reads and writes numbers as floating-point ones, which takes
-- longer than all else for a small group.
local numbers = {}
local function numberOfText(text)
  local number = numbers[text]
  if not number then
    number = tonumber(text)
    numbers[text] = number
  end
  return number
end
local function whole(number) return string.format('%d', number) end

-- Quotas by cell. announce-survey.lua writes the hash of a survey's quotas; of the quota with code N: `cN` count, `lN`
-- limit, `rN` rule (first letter: C counts completed responses, S started ones; second: what happens when it is full,
-- O over quota, C the survey closes, N nothing), `aN` id and name, `nN` set while the responses of before are being
-- counted, `fN` how often it was reached. While they are being counted `dN` is what was added meanwhile, and `counting` is set.
-- Those that a batch names are read with one command and written with one.
local function readCellQuotas(id, cells)
  local quotas = {}
  if cells == '' then return quotas end
  local codes, fields = {}, {}
  for code in string.gmatch(cells, '%d+') do
    local n = #fields
    codes[#codes + 1] = code
    fields[n + 1], fields[n + 2], fields[n + 3], fields[n + 4] = 'c' .. code, 'l' .. code, 'r' .. code, 'n' .. code
  end
  local values = redis.call('HMGET', prefix .. 'quotas:' .. id, unpack(fields))
  for i, code in ipairs(codes) do
    local rule = values[i * 4 - 1]
    -- A quota that was deleted meanwhile has none: the revision of the survey has changed, so nothing is accepted.
    if rule then
      quotas[code] = {
        code = code, count = tonumber(values[i * 4 - 3] or 0), limit = numberOfText(values[i * 4 - 2]), added = 0,
        countsStarted = string.byte(rule, 1) == 83, whenFull = string.sub(rule, 2, 2), isCounting = values[i * 4],
      }
    end
  end
  return quotas
end

local function cellQuotasOf(survey, cells)
  local found = {}
  for code in string.gmatch(cells, '%d+') do found[#found + 1] = survey.cellQuotas[code] end
  return found
end

local function writeCellQuotas(survey)
  local name, written, added = prefix .. 'quotas:' .. survey.id, {}, {}
  for code, quota in pairs(survey.cellQuotas) do
    if quota.added ~= 0 then
      written[#written + 1], written[#written + 2] = 'c' .. code, whole(quota.count + quota.added)
      added[#added + 1] = quota
    end
  end
  if #added == 0 then return end
  redis.call('HSET', name, unpack(written))
  if redis.call('HEXISTS', name, 'counting') == 0 then return end
  for _, quota in ipairs(added) do redis.call('HINCRBY', name, 'd' .. quota.code, quota.added) end
end

local surveys, nextArgument = {}, 8
for i = 1, tonumber(ARGV[7]) do
  local id, revision, cells = ARGV[nextArgument], ARGV[nextArgument + 1], ARGV[nextArgument + 2]
  local key = prefix .. 'survey:' .. id
  local fields = redis.call('HMGET', key, 'rev', 'quota', 'total', 'completed', 'filled', 'codes', 'held', 'pending',
    'uncounted')
  surveys[i] = {
    id = id, key = key, isKnown = fields[1], isCurrent = fields[1] == revision, isFrozen = fields[9] == '1' or isFrozen(key, fields[7]),
    quota = tonumber(fields[2] or ''), total = tonumber(fields[3] or 0), completed = tonumber(fields[4] or 0),
    isFilled = fields[5] == '1', codes = tonumber(fields[6] or 0),
    isOverPendingLimit = maxPendingBytes ~= nil and tonumber(fields[8] or 0) > maxPendingBytes,
    newRows = 0, newTotal = 0, newCompleted = 0, newBytes = 0, counters = {},
    cellQuotas = readCellQuotas(id, cells),
  }
  nextArgument = nextArgument + 3
end

local rows, rowCount, filledSurveys, results, codes, records = {}, 0, {}, {}, 0, {}
local reachedQuotas, usedInvitations, replies, hasReplies = {}, {}, {}, false

-- `isByCell`: a quota by cell has filled it, and not the quota of the survey.
local function markFilled(survey, isByCell)
  survey.isFilled = true
  redis.call('HSET', survey.key, 'filled', '1')
  if not isByCell then redis.call('HSET', survey.key, 'filledByQuota', '1') end
  filledSurveys[#filledSurveys + 1] = survey.id
end

-- Milliseconds until a counter's window ends. After the clock was set back the window would last as much longer: then
-- a new one begins now.
local function windowLeft(name)
  local left = redis.call('PTTL', name)
  if left >= 0 and left <= windowMs then return left end
  redis.call('PEXPIRE', name, windowMs)
  return windowMs
end

-- Counts the limit before anything else: a submission that is refused counts too. Returns the count with these
-- submissions and the ms until the window ends; -1 where there is nothing to count. Each caller's counter is read and
-- written once, however many single submissions it has.
local counters = {}
local function countLimit(survey, caller, n)
  if caller == '' then return -1, 0 end
  local counter = survey.counters[caller]
  if counter then
    counter.count, counter.unwritten = counter.count + n, counter.unwritten + n
    return counter.count, counter.left
  end
  local name = prefix .. 'limit:' .. survey.id .. ':' .. caller
  local count = redis.call('INCRBY', name, n)
  local left = windowMs
  if count == n then redis.call('PEXPIRE', name, windowMs) else left = windowLeft(name) end
  counter = { name = name, count = count, left = left, unwritten = 0 }
  survey.counters[caller], counters[#counters + 1] = counter, counter
  return count, left
end

-- Counts the bytes of large rows. Returns whether the caller, who is another one in each survey, has sent too many, and
-- the ms until the window ends.
local function countLarge(caller, bytes)
  if caller == '' or bytes < largeRow then return false, 0 end
  local name = prefix .. 'bytes:' .. caller
  local sum = redis.call('INCRBY', name, bytes)
  if sum == bytes then redis.call('PEXPIRE', name, windowMs) end
  return sum > maxLargeBytes, windowLeft(name)
end

local function firstLines(text, n)
  local lineEnd = 0
  for _ = 1, n do lineEnd = string.find(text, '\n', lineEnd + 1, true) end
  return string.sub(text, 1, lineEnd - 1)
end

local function addRows(survey, text, n)
  rows[#rows + 1] = text
  rowCount = rowCount + n
  survey.newRows, survey.newBytes = survey.newRows + n, survey.newBytes + #text
  if survey.codes > codes then codes = survey.codes end
end

-- The seats of a collector. Completed responses are counted by collector once a survey has a second one or a quota for
-- one (see announce-survey.lua).
local function collectorOf(survey, code)
  if code == '' then return nil end
  survey.collectors = survey.collectors or {}
  local known = survey.collectors[code]
  if known then return known end
  local fields = redis.call('HMGET', survey.key, 'quota:' .. code, 'completed:' .. code)
  local collector = { quota = tonumber(fields[1] or ''), completed = tonumber(fields[2] or 0), newCompleted = 0 }
  survey.collectors[code] = collector
  return collector
end

-- Number of free seats of a survey or collector; nil: any number.
local function freeSeatsOf(counted)
  return counted.quota and math.max(0, counted.quota - counted.completed - counted.newCompleted)
end

-- Seats that are free in all these cells, and the first quota that has the fewest; nothing where none is limited.
local function freeInCells(quotas)
  local free, scarcest
  for _, quota in ipairs(quotas) do
    if quota.whenFull ~= 'N' and not quota.isCounting then
      local left = math.max(0, quota.limit - quota.count - quota.added)
      if not free or left < free then free, scarcest = left, quota end
    end
  end
  return free, scarcest
end

-- Takes n seats in each cell, or gives them back. Returns whether a quota that closes the survey was reached.
local function takeCells(survey, quotas, n)
  local mustClose = false
  for _, quota in ipairs(quotas) do
    local before = quota.count + quota.added
    quota.added = quota.added + n
    if not quota.isCounting and before < quota.limit and before + n >= quota.limit then
      local times = redis.call('HINCRBY', prefix .. 'quotas:' .. survey.id, 'f' .. quota.code, 1)
      -- The quota may be another, or deleted, when this is announced to webhooks.
      local said = redis.call('HGET', prefix .. 'quotas:' .. survey.id, 'a' .. quota.code) or ''
      reachedQuotas[#reachedQuotas + 1] =
        table.concat({ survey.id, quota.code, times, before + n, quota.limit, said }, ':')
      mustClose = mustClose or quota.whenFull == 'C'
    end
  end
  return mustClose
end

-- The outcome stands after the survey's version. A row of '3' is over quota.
local outcomeInRow = '^(%["[^"]*","[^"]*",%-?%d+,%d+,0,%d+,)%d'
local function markOverQuota(row) return (string.gsub(row, outcomeInRow, '%13', 1)) end
local function markRowsOverQuota(text, from)
  local marked, i = {}, 0
  for row in string.gmatch(text, '[^\n]+') do
    i = i + 1
    marked[i] = i > from and markOverQuota(row) or row
  end
  return table.concat(marked, '\n')
end

-- Returns how many are accepted, the code of the others, whether they fill the survey, how many of the accepted have a
-- seat, and the code of the quota by cell that has none for the others.
local function acceptGroup(survey, collector, passed, n, i)
  if not survey.isKnown then return 0, UNKNOWN, 0, 0, '' end
  if not survey.isCurrent then return 0, STALE, 0, 0, '' end
  if survey.isFrozen then return 0, FROZEN, 0, 0, '' end
  if survey.isFilled then return 0, QUOTA, 0, 0, '' end
  if survey.isOverPendingLimit then return 0, FULL, 0, 0, '' end
  local freeSeats, code = freeSeatsOf(survey), QUOTA
  local seated = freeSeats and math.min(passed, freeSeats) or passed
  local quotas, fullQuota, mustClose = nil, nil, false
  if ARGV[i + 5] ~= '' then
    quotas = cellQuotasOf(survey, ARGV[i + 5])
    local free, scarcest = freeInCells(quotas)
    if free and free < seated then seated, fullQuota = free, scarcest end
  end
  local collectorSeats = collector and freeSeatsOf(collector)
  if collectorSeats and (collectorSeats < seated or collectorSeats == seated and fullQuota) then
    seated, fullQuota, code = collectorSeats, nil, COLLECTOR_FULL
  end
  if quotas then mustClose = takeCells(survey, quotas, seated) end
  local isFull = passed > 0 and seated == freeSeats or mustClose or (fullQuota and fullQuota.whenFull == 'C')
  local accepted = (isFull or code == COLLECTOR_FULL) and seated or passed
  if accepted > 0 then
    survey.newTotal, survey.newCompleted = survey.newTotal + accepted, survey.newCompleted + seated
    if collector then collector.newCompleted = collector.newCompleted + seated end
    local text = accepted == n and ARGV[i + 3] or firstLines(ARGV[i + 3], accepted)
    addRows(survey, accepted > seated and markRowsOverQuota(text, seated) or text, accepted)
  end
  if isFull then markFilled(survey, survey.newCompleted + survey.completed < (survey.quota or math.huge)) end
  return accepted, code, (isFull and seated > 0) and 1 or 0, seated, accepted > seated and fullQuota.code or ''
end

local function processGroup(survey, i)
  local n, limit = numberOfText(ARGV[i + 4]), numberOfText(ARGV[i + 2])
  local count, left = countLimit(survey, ARGV[i + 1], n)
  local passed = count < 0 and n or math.max(0, math.min(n, limit - count + n))
  local accepted, code, isFilled, seated, fullCode = acceptGroup(survey, collectorOf(survey, ARGV[i + 6]), passed, n, i)
  if seated == n and isFilled == 0 then return string.format('%d %d', left, count) end
  return left .. ' ' .. count .. ' ' .. passed .. ' ' .. accepted .. ' ' .. code .. ' ' .. isFilled .. ' ' .. seated
    .. ' ' .. fullCode
end

-- Idempotency. Each accepted submission leaves a record of 48 bytes in the present generation: hashes small enough for
-- Redis to store each as a listpack. rotate-generations.lua drops a generation once the response store has its records.
-- That a key was used is kept for two days or more in sets of integers, four bytes a key: by day, and in so many sets
-- that each stays small. A key that is in no set is new. For a key that is in a set but has no record here any more,
-- the response store must be asked.
local recentBuckets, usedBuckets, keysPerBucket, lastLevel, daySeconds, usedDays = 4096, 256, 200, 6, 86400, 3
local idempotency

local function openIdempotency()
  if idempotency then return idempotency end
  local day = math.floor(tonumber(redis.call('TIME')[1]) / daySeconds)
  -- Days after today are of before the clock was set back. Days that are over count until their sets are dropped.
  local levels, seen = {}, redis.call('HGETALL', 'idem:seen')
  for i = 1, #seen, 2 do
    local usedDay, count, level = tonumber(seen[i]), tonumber(seen[i + 1]), 0
    while level < lastLevel and count >= usedBuckets * keysPerBucket * 4 ^ level do level = level + 1 end
    local isKept = usedDay > day - usedDays or redis.call('HEXISTS', 'idem:over', seen[i]) == 0
    if isKept and count > 0 then levels[usedDay] = level end
  end
  local today = levels[day] or 0
  -- The other sets in which a key may be: their names without the bucket, and the number of buckets.
  local others = {}
  for usedDay, last in pairs(levels) do
    for level = 0, last do
      if usedDay ~= day or level < today then
        others[#others + 1] = { 'idem:seen:' .. usedDay .. ':' .. level .. ':', usedBuckets * 4 ^ level }
      end
    end
  end
  idempotency = {
    generation = tonumber(redis.call('GET', 'idem:generation') or 0), day = day,
    present = 'idem:seen:' .. day .. ':' .. today .. ':', buckets = usedBuckets * 4 ^ today,
    others = others, newKeys = 0, newBytes = 0,
  }
  return idempotency
end

-- A key is 24 hexadecimal digits: the first 8 choose the bucket, the next 14 are its field there.
local function recentName(generation, place) return 'idem:recent:' .. generation .. ':' .. place % recentBuckets end
local function fieldOf(key) return string.sub(key, 9, 22) end
local function placeOf(key) return tonumber(string.sub(key, 1, 8), 16) end
local function numberOf(key) return string.format('%.0f', tonumber(string.sub(key, 9, 16), 16) - 2147483648) end

-- The variable parts of the reply to a repeat.
local function acceptedText(outcome, submittedAt, quotaCode, ignored)
  local text = outcome .. ' ' .. submittedAt
  return (quotaCode ~= '' and text .. ' ' .. quotaCode or text) .. ignored
end

-- Marks a key as used, and finds its earlier use. Returns the code and text of a submission that is not accepted;
-- otherwise nothing, and whether this submission has set the mark, which `unmarkKey` takes back. A record: digest (12),
-- outcome, submitted at (8); for the id of a response also the end of its survey's id; over quota also a colon and the
-- code of the quota; of surveys with paths also `ignored`.
local function findRecord(key, digest, isLookupDone, surveyEnd)
  local sets, place, number = openIdempotency(), placeOf(key), numberOf(key)
  local wasUsed = redis.call('SADD', sets.present .. place % sets.buckets, number) == 0
  if not wasUsed then
    for i = 1, #sets.others do
      local other = sets.others[i]
      if redis.call('SISMEMBER', other[1] .. place % other[2], number) == 1 then
        wasUsed = true
        redis.call('SREM', sets.present .. place % sets.buckets, number)
        break
      end
    end
  end
  if not wasUsed then return nil, '', true end
  for generation = sets.generation, math.max(0, sets.generation - tonumber(redis.call('LLEN', 'idem:closed'))), -1 do
    local record = redis.call('HGET', recentName(generation, place), fieldOf(key))
    if record then
      local recordEnd, quotaCode, ignored = string.match(record, '^([^:/]*):?(%d*)(.*)$', 22)
      if string.sub(record, 1, 12) ~= digest or recordEnd ~= surveyEnd then return MISMATCH, '' end
      return REPLAY, acceptedText(string.sub(record, 13, 13), string.sub(record, 14, 21), quotaCode, ignored)
    end
  end
  if isLookupDone then return nil, '', false end
  return LOOKUP, ''
end

-- The key of a submission that was not accepted counts as unused, unless it was marked before.
local function unmarkKey(key)
  redis.call('SREM', idempotency.present .. placeOf(key) % idempotency.buckets, numberOf(key))
end

-- `isMarked`: this submission has marked the key. An older mark may be in the set of another day, which is dropped
-- sooner than the record is to be known.
local function saveRecord(key, record, isMarked)
  if not isMarked then
    redis.call('SADD', idempotency.present .. placeOf(key) % idempotency.buckets, numberOf(key))
  end
  redis.call('HSET', recentName(idempotency.generation, placeOf(key)), fieldOf(key), record)
  idempotency.newKeys, idempotency.newBytes = idempotency.newKeys + 1, idempotency.newBytes + #record + 27
end

-- The state of a response that is or was open. An earlier version stored its whole reply in `reply`.
local function readState(responseId)
  local fields =
    redis.call('HMGET', 'response:' .. responseId, 'n', 'done', 'digest', 'reply', 'survey', 'first', 'v', 'at', 'out',
      'ignored')
  return {
    version = fields[1], isComplete = fields[2] == '1', digest = fields[3], legacyReply = fields[4],
    surveyId = fields[5], first = fields[6], format = fields[7], submittedAt = fields[8],
    outcome = fields[9] and string.sub(fields[9], 1, 1), fullQuota = fields[9] and string.sub(fields[9], 3) or '',
    ignored = fields[10] or '',
  }
end

-- Digest of the first body (12), and a slash where the reply to it named the path, a hyphen where not. Earlier versions
-- kept the digest alone (12 or 43), and took what they had said of the path last for what they had said of it first.
local function firstOf(state)
  local first = state.first or state.version == '1' and state.digest
  if not first or #first == 13 then return first end
  return string.sub(first, 1, 12) .. (state.ignored == '' and '-' or '/')
end

-- Saves the state of a response that is or was open. Its answers, which may be large, are kept only until the response
-- store has them.
local function saveState(survey, item, state)
  local stateName, answersName = 'response:' .. item.responseId, 'answers:' .. item.responseId
  local n = (tonumber(item.observedVersion) or 0) + 1
  local generation = openIdempotency().generation
  redis.call('HSET', stateName, 'n', n, 'done', item.isComplete and '1' or '0', 'digest', item.digest, 'at', item.at,
    'survey', survey.id, 'gen', generation)
  -- What the reply to the save before said of the path. An earlier version stored the answers, and a reply, too.
  if state.version then redis.call('HDEL', stateName, 'ignored', 'data', 'reply') end
  if item.outcome > '1' then redis.call('HSET', stateName, 'out', item.outcome .. item.fullQuota) end
  if item.ignored ~= '' then redis.call('HSET', stateName, 'ignored', item.ignored) end
  local first = firstOf(state)
  if first and first ~= state.first then redis.call('HSET', stateName, 'first', first) end
  redis.call('EXPIRE', stateName, stateTtl)
  redis.call('RPUSH', 'idem:open:' .. generation, item.responseId)
  idempotency.newBytes = idempotency.newBytes + 400
  if not item.isComplete then
    redis.call('SET', answersName, n .. ':' .. item.savedState, 'EX', answersTtl)
    idempotency.newBytes = idempotency.newBytes + #item.savedState + 100
  elseif n > 1 then redis.call('DEL', answersName) end
end

-- Whether the response of this row was deleted lately. Several responses may have had its id: the one that was
-- submitted at the row's time counts.
local function wasDeleted(item)
  local deletions = redis.call('GET', prefix .. 'removed:' .. item.responseId)
  if not deletions then return false end
  local submittedAtMs = string.match(item.row, '^%["[^"]*","[^"]*",(%d+),')
  -- Earlier versions stored '1' instead of times.
  return deletions == '1' or not submittedAtMs
    or string.find(',' .. deletions .. ',', ',' .. submittedAtMs .. ',', 1, true) ~= nil
end

-- Whether the response may have been saved and evicted since the caller looked for its version. A save is noted in the
-- generation that is open then, and generations are dropped from the oldest on: while one that was closed earlier is
-- still there, none is dropped in which such a save could be.
local function mayHaveChanged(item)
  local observed, present = item.observedGeneration, openIdempotency().generation
  if not observed or observed > present then return true end
  if observed == present then return false end
  local oldest = redis.call('LINDEX', 'idem:closed', 0)
  return not oldest or tonumber(oldest) >= observed
end

-- The variable parts of the reply to a repeat; the whole reply where an earlier version stored it.
local function replyOf(state, isComplete, ignored)
  if state.submittedAt then
    return acceptedText(isComplete and (state.outcome or '1') or '0', state.submittedAt,
      isComplete and state.fullQuota or '', ignored)
  end
  if isComplete then return state.legacyReply end
  return (string.gsub(state.legacyReply, '"isComplete":true', '"isComplete":false', 1))
end

local function hasSameDigest(item, stored)
  local digest = string.sub(stored, 1, 12)
  return digest == item.digest or digest == item.legacyDigest
end

-- Compares a submission with the state of the response that it names. Returns nothing where it may be accepted.
local function checkState(survey, item, state)
  if state.format and state.format ~= '1' then return NEWER, '' end
  if state.version then
    if state.surveyId ~= survey.id then return MISMATCH, '' end
    if hasSameDigest(item, state.digest) then return REPLAY, replyOf(state, state.isComplete, state.ignored) end
    -- Who goes on with a response may want the answers of its first save again.
    local isContinued = item.observedVersion ~= '0' and not state.isComplete
    if state.first and not isContinued and hasSameDigest(item, state.first) then
      return REPLAY, replyOf(state, false, string.sub(firstOf(state), 13) == '/' and '/' or '')
    end
    if item.observedVersion == '0' then
      -- Only the response store may have the record of its first save.
      if not state.first and tonumber(state.version) > 1 and not item.isLookupDone then return LOOKUP, '' end
      return MISMATCH, ''
    end
    if state.isComplete then return COMPLETE, '' end
    if state.version ~= item.observedVersion then return CHANGED, '' end
    return nil
  end
  -- The state is evicted: the caller has asked the response store, or has read the state before. The response may have
  -- been deleted or continued since.
  if item.observedVersion ~= '0' then
    if wasDeleted(item) or mayHaveChanged(item) then return CHANGED, '' end
    return nil
  end
  if item.idKey then
    local code, text, isMarked = findRecord(item.idKey, item.digest, item.isLookupDone, string.sub(survey.id, -8))
    item.isIdFree, item.isIdMarked = not code, isMarked
    return code, text
  end
end

-- An earlier version stored a key's digest (43) and the reply. A newer version's value begins with an exclamation mark.
local function findLegacyRecord(survey, item)
  local record = redis.call('GET', prefix .. 'idem:' .. survey.id .. ':' .. item.legacyKey)
  if not record then return nil end
  if string.byte(record) == 33 then return NEWER, '' end
  if hasSameDigest(item, record) then return REPLAY, string.sub(record, 44) end
  return MISMATCH, ''
end

-- Moves a response from the cells of its earlier saves to its present ones, all or none. Returns the quota that is full,
-- and whether one was reached that closes the survey.
local function takeCellsOfItem(survey, item)
  if item.cells == '' and item.heldCells == '' then return nil, false end
  local held, kept, taken, given = {}, {}, {}, {}
  for _, quota in ipairs(cellQuotasOf(survey, item.heldCells)) do
    if quota.countsStarted then held[quota.code] = quota end
  end
  for _, quota in ipairs(cellQuotasOf(survey, item.cells)) do
    if item.outcome == '1' or quota.countsStarted and item.outcome == '0' then
      if held[quota.code] then
        kept[#kept + 1], held[quota.code] = quota, nil
      else taken[#taken + 1] = quota end
    end
  end
  for _, quota in pairs(held) do given[#given + 1] = quota end
  local free, scarcest = freeInCells(taken)
  local fullQuota = free == 0 and scarcest or nil
  if fullQuota and fullQuota.whenFull == 'C' then return fullQuota, false end
  takeCells(survey, given, -1)
  if fullQuota then
    takeCells(survey, kept, -1)
    return fullQuota, false
  end
  return nil, takeCells(survey, taken, 1)
end

-- Records for the response store, a line each, and for each what its reply said of the path.
local function addRecords(lines, reply)
  records[#records + 1] = lines
  for _ in string.gmatch(lines, '[^\n]+') do replies[#replies + 1] = reply end
  hasReplies = hasReplies or reply ~= ''
end

local function decide(survey, collector, item)
  if item.key then
    local code, text, isMarked = findRecord(item.key, item.digest, item.isLookupDone, '')
    item.isKeyMarked = isMarked
    if not code and item.legacyKey then code, text = findLegacyRecord(survey, item) end
    if code then return code, text end
  end
  local state = {}
  if item.observedVersion ~= '' then
    state = readState(item.responseId)
    local code, text = checkState(survey, item, state)
    if code then return code, text end
  end
  if not survey.isKnown then return UNKNOWN, '' end
  if not survey.isCurrent then return STALE, '' end
  if survey.isFrozen then return FROZEN, '' end
  if item.mark and redis.call('SISMEMBER', prefix .. 'spent:' .. survey.id, item.mark) == 1 then return SPENT, '' end
  if item.mustRefuse then return REFUSED, '' end
  if survey.isFilled then return QUOTA, '' end
  if survey.isOverPendingLimit then return FULL, '' end
  if freeSeatsOf(survey) == 0 then
    markFilled(survey)
    return QUOTA, ''
  end
  if collector and freeSeatsOf(collector) == 0 then return COLLECTOR_FULL, '' end

  local fullQuota, mustClose = takeCellsOfItem(survey, item)
  if fullQuota and fullQuota.whenFull == 'C' then
    markFilled(survey, true)
    return QUOTA, ''
  end
  local isSave = item.savedState ~= ''
  if fullQuota then
    item.outcome, item.isComplete, item.savedState, item.fullQuota = '3', true, '', ':' .. fullQuota.code
    item.row, item.records = markOverQuota(item.row), string.gsub(item.records, ',%d%]', ',3]')
  end

  local isFirst = item.observedVersion == '' or item.observedVersion == '0'
  if isFirst then survey.newTotal = survey.newTotal + 1 end
  if item.outcome == '1' then
    survey.newCompleted = survey.newCompleted + 1
    if collector then collector.newCompleted = collector.newCompleted + 1 end
  end
  addRows(survey, item.row, 1)
  local record = item.digest .. item.outcome .. item.at
  if item.key then saveRecord(item.key, record .. item.fullQuota .. item.ignored, item.isKeyMarked) end
  if item.isIdFree then
    local idRecord = record .. string.sub(survey.id, -8) .. item.fullQuota .. item.ignored
    saveRecord(item.idKey, idRecord, item.isIdMarked)
  end
  -- A response that is complete at once needs no state: its record is enough.
  if isSave or state.version or not isFirst then saveState(survey, item, state) end
  if item.records ~= '' then addRecords(item.records, item.fullQuota .. item.ignored) end
  if item.mustMark then redis.call('SADD', prefix .. 'spent:' .. survey.id, item.mark)
  elseif item.mark then
    usedInvitations[#usedInvitations + 1] =
      table.concat({ item.tokenHash, item.responseId, item.outcome, survey.id }, ':')
  end
  local isFilled = survey.quota and item.outcome == '1' and survey.completed + survey.newCompleted == survey.quota
  if isFilled or mustClose then
    markFilled(survey, not isFilled)
    return FILLED, ''
  end
  if fullQuota then return OVER_QUOTA, fullQuota.code end
  return ACCEPTED, ''
end

local function fixedField(text, from, to)
  if string.byte(text, from) == 32 then return nil end
  return string.sub(text, from, to)
end

-- Reads the single submission at argument `i`. Returns it and the index of the argument after it.
local function readItem(i)
  local identity = ARGV[i]
  local item = {
    row = ARGV[i + 1], records = ARGV[i + 2],
    outcome = string.sub(identity, 1, 1), isComplete = string.byte(identity, 1) ~= 48,
    isLookupDone = string.byte(identity, 2) == 49, mustRefuse = string.byte(identity, 3) == 49,
    at = string.sub(identity, 5, 12), digest = string.sub(identity, 13, 24),
    key = fixedField(identity, 25, 48), idKey = fixedField(identity, 49, 72), observedVersion = '', savedState = '',
    cells = '', heldCells = '', fullQuota = '', ignored = '',
  }
  if #identity > 72 then
    local observedVersion, observedGeneration, legacy, cells, heldCells, invited, ignored =
      string.match(identity, '^(%-?%d*)@?(%d*) ?([^\t]*)\t?([^\t]*)\t?([^\t]*)\t?([^\t]*)\t?(.*)$', 73)
    item.observedVersion, item.cells, item.heldCells, item.ignored = observedVersion, cells, heldCells, ignored
    item.observedGeneration = tonumber(observedGeneration)
    if invited ~= '' then
      item.mark, item.mustMark, item.tokenHash =
        string.sub(invited, 1, 16), string.byte(invited, 17) == 49, string.sub(invited, 18)
    end
    if legacy ~= '' then
      item.legacyDigest, item.legacyKey = string.sub(legacy, 1, 12), #legacy > 12 and string.sub(legacy, 13) or nil
    end
  end
  if string.byte(identity, 4) ~= 49 then return item, i + 3 end
  item.responseId, item.savedState = ARGV[i + 3], ARGV[i + 4]
  return item, i + 5
end

local function processSingle(survey, caller, limit, collector, item)
  local count, left = countLimit(survey, caller, 1)
  if count > limit then return LIMITED .. ' 0 ' .. left .. ' ' end
  local isTooMuch, bytesLeft = countLarge(caller, #item.row)
  if isTooMuch then return LIMITED .. ' 0 ' .. bytesLeft .. ' ' end
  local code, text = decide(survey, collector, item)
  if code ~= ACCEPTED and code ~= FILLED and code ~= OVER_QUOTA then
    if item.isKeyMarked then unmarkKey(item.key) end
    if item.isIdMarked then unmarkKey(item.idKey) end
  end
  return code .. ' ' .. (count < 0 and -1 or limit - count) .. ' ' .. left .. ' ' .. text
end

local i = nextArgument
while i <= #ARGV do
  local survey = surveys[numberOfText(ARGV[i])]
  if ARGV[i + 3] ~= '' then
    results[#results + 1] = processGroup(survey, i)
    i = i + 7
  else
    local caller, limit, item, number = ARGV[i + 1], numberOfText(ARGV[i + 2]), nil, numberOfText(ARGV[i + 4])
    local collector = collectorOf(survey, ARGV[i + 6])
    i = i + 7
    for _ = 1, number do
      item, i = readItem(i)
      results[#results + 1] = processSingle(survey, caller, limit, collector, item)
    end
  end
end

for _, counter in ipairs(counters) do
  if counter.unwritten > 0 then redis.call('INCRBY', counter.name, counter.unwritten) end
end

local surveyIds, sizes, bytes = {}, {}, 0
for i = 1, #surveys do
  local survey = surveys[i]
  writeCellQuotas(survey)
  -- By rows, not by counts: a response that is continued and left open changes no count.
  if survey.newRows > 0 then
    redis.call('HINCRBY', survey.key, 'total', survey.newTotal)
    redis.call('HINCRBY', survey.key, 'completed', survey.newCompleted)
    for code, collector in pairs(survey.collectors or {}) do
      if collector.newCompleted > 0 then
        redis.call('HINCRBY', survey.key, 'completed:' .. code, collector.newCompleted)
      end
    end
    redis.call('HINCRBY', survey.key, 'pending', survey.newBytes)
    surveyIds[#surveyIds + 1], sizes[#sizes + 1], bytes = survey.id, survey.newBytes, bytes + survey.newBytes
  end
end

if idempotency and idempotency.newBytes > 0 then
  redis.call('HINCRBY', 'idem:generations', idempotency.generation, idempotency.newBytes)
  redis.call('HINCRBY', 'idem:seen', idempotency.day, idempotency.newKeys)
end

if rowCount > 0 or #filledSurveys > 0 then
  local entry = {
    'n', rowCount, 'codes', codes, 'surveys', table.concat(surveyIds, ','), 'sizes', table.concat(sizes, ','),
    'filled', table.concat(filledSurveys, ','), 'rows', table.concat(rows, '\n'),
  }
  if #records > 0 then
    entry[#entry + 1] = 'records'
    entry[#entry + 1] = table.concat(records, '\n')
    if hasReplies then
      entry[#entry + 1] = 'replies'
      entry[#entry + 1] = table.concat(replies, '\n')
    end
  end
  if #usedInvitations > 0 then
    entry[#entry + 1] = 'invited'
    entry[#entry + 1] = table.concat(usedInvitations, ',')
  end
  if #reachedQuotas > 0 then
    entry[#entry + 1] = 'quotas'
    entry[#entry + 1] = table.concat(reachedQuotas, ',')
  end
  redis.call('XADD', KEYS[1], '*', unpack(entry))
  redis.call('INCRBY', prefix .. 'pending', bytes)
end
return results
