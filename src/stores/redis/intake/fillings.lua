-- Goes before the scripts by which a quota by cell may become full without a submission. Returns four functions for the
-- quotas of a survey: whether one is full; that one has become full; at the end, the one that announces those, as
-- append.lua does with the submission that fills one; and that one which was full closes the survey from now on. A quota
-- that nobody counts for is not announced, whatever its limit is.
local function fillings(quotas, surveyKey, stream, surveyId)
  local reached, mustClose = {}, false
  local function isFull(count, limit) return count > 0 and count >= limit end
  local function noteReached(code, count)
    local times = redis.call('HINCRBY', quotas, 'f' .. code, 1)
    local said = redis.call('HMGET', quotas, 'r' .. code, 'l' .. code, 'a' .. code)
    reached[#reached + 1] = string.format('%s:%s:%d:%d:%s:%s', surveyId, code, times, count, said[2], said[3] or '')
    mustClose = mustClose or string.sub(said[1], 2, 2) == 'C'
  end
  local function announceReached()
    if #reached == 0 and not mustClose then return end
    if mustClose then redis.call('HSET', surveyKey, 'filled', '1') end
    redis.call('XADD', stream, '*', 'n', 0, 'codes', 0, 'surveys', '', 'sizes', '',
      'filled', mustClose and surveyId or '', 'rows', '', 'quotas', table.concat(reached, ','))
  end
  local function noteClosing() mustClose = true end
  return isFull, noteReached, announceReached, noteClosing
end

