-- Deletes one response: frees its seat, removes its state and appends the tombstone row. Several responses may have had
-- one id, if it was used again after the earlier use was evicted; their submission times tell them apart.
-- KEYS[1] the shard's stream. ARGV: prefix, survey id, response id, '1' if it takes a seat of the quota, tombstone
--   row, submitted at in ms, submitted at in ISO 8601 (to compare with a reply that an earlier version stored),
--   seconds for which the deletion is remembered, seconds for which nobody may use the id again ('0': the response store prevents that),
--   submitted at to base 36, code of its collector, ms of the last save ('': not known), seconds for which the deletion is
--   remembered where an entry of the response may still be in the stream.
-- Returns 1, 0 when it was deleted before, or -1 when its state has the format of a newer version.
local prefix, submittedAtMs = ARGV[1], ARGV[6]
local stateName, deletionsName = 'response:' .. ARGV[3], prefix .. 'removed:' .. ARGV[3]
local format = redis.call('HGET', stateName, 'v')
if format and format ~= '1' then return -1 end
local deletions = redis.call('GET', deletionsName)
-- Earlier versions stored '1' instead of times.
if deletions == '1' then return 0 end
if deletions and string.find(',' .. deletions .. ',', ',' .. submittedAtMs .. ',', 1, true) then return 0 end

local takesSeat = ARGV[4] == '1'
local state = redis.call('HMGET', stateName, 'n', 'done', 'reply', 'at', 'out')
local isOfAnother = state[4] and state[4] ~= ARGV[10]
if not state[4] then
  isOfAnother = state[3] and string.find(state[3], '"submittedAt"', 1, true)
    and not string.find(state[3], ARGV[7], 1, true)
end

-- Entries before the id up to which the stream was trimmed are gone. The time of a save is that of the clock of the
-- service, hence the hour. A response that has a state may have been saved since the caller read it.
local keptFromMs = tonumber(string.match(redis.call('GET', prefix .. 'trimmed') or '', '^%d+') or 0)
local hasEntry = (state[1] and not isOfAnother) or ARGV[12] == '' or tonumber(ARGV[12]) + 3600000 >= keptFromMs
redis.call('SET', deletionsName, deletions and deletions .. ',' .. submittedAtMs or submittedAtMs,
  'EX', hasEntry and ARGV[13] or ARGV[8])
redis.call('INCR', prefix .. 'removals')

if not isOfAnother then
  -- An open response may have been completed since the caller read it.
  if state[1] and state[1] ~= '-1' then takesSeat = (state[5] or state[2]) == '1' end
  redis.call('DEL', stateName, 'answers:' .. ARGV[3])
  if ARGV[9] ~= '0' then
    redis.call('HSET', stateName, 'n', '-1', 'done', '1', 'digest', '-', 'survey', ARGV[2])
    redis.call('EXPIRE', stateName, ARGV[9])
  end
end

local key = prefix .. 'survey:' .. ARGV[2]
-- Never below 0: an intake that did not know the survey may have begun to count it without the responses that were
-- still on their way to the response store.
local function decrement(field)
  if (tonumber(redis.call('HGET', key, field) or '') or 0) > 0 then redis.call('HINCRBY', key, field, -1) end
end
decrement('total')
if takesSeat then
  decrement('completed')
  decrement('completed:' .. ARGV[11])
end
-- Seats in quotas by cell come back when the stored responses are counted again.
if redis.call('EXISTS', prefix .. 'quotas:' .. ARGV[2]) == 1 then
  redis.call('HINCRBY', prefix .. 'quotas:' .. ARGV[2], 'removals', 1)
  redis.call('SADD', prefix .. 'quotas-to-count', ARGV[2])
end
redis.call('HINCRBY', key, 'pending', #ARGV[5])
redis.call('INCRBY', prefix .. 'pending', #ARGV[5])
redis.call('XADD', KEYS[1], '*', 'n', 1, 'codes', 0, 'surveys', ARGV[2], 'sizes', #ARGV[5], 'filled', '',
  'rows', ARGV[5])
return 1
