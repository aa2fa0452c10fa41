-- Deletes one response: gives its seat back, forgets its state and appends the tombstone row. An id that came again after it was forgotten
-- stands for several responses, each with a moment of its own.
-- KEYS[1] the shard's stream. ARGV: prefix, survey id, response id, isComplete '1'/'0', tombstone row, submitted at in ms, the same as replies say it (a
--   former version kept the reply), seconds to remember the deletion, seconds for which nobody may use the id again ('0': the response store
--   sees to that), submitted at to base 36.
-- Returns 1, 0 when it was deleted before, or -1 when its state is of a newer version's form.
local prefix, moment = ARGV[1], ARGV[6]
local stateName, removedName = 'response:' .. ARGV[3], prefix .. 'removed:' .. ARGV[3]
local form = redis.call('HGET', stateName, 'v')
if form and form ~= '1' then return -1 end
local removed = redis.call('GET', removedName)
-- Former versions noted no moment.
if removed == '1' then return 0 end
if removed and string.find(',' .. removed .. ',', ',' .. moment .. ',', 1, true) then return 0 end
redis.call('SET', removedName, removed and removed .. ',' .. moment or moment, 'EX', ARGV[8])
redis.call('INCR', prefix .. 'removals')

local isComplete = ARGV[4] == '1'
local state = redis.call('HMGET', stateName, 'n', 'done', 'reply', 'at')
local isOfAnother = state[4] and state[4] ~= ARGV[10]
if not state[4] then isOfAnother = state[3] and string.find(state[3], '"submittedAt"', 1, true) and not string.find(state[3], ARGV[7], 1, true) end
if not isOfAnother then
  -- A partial response may have been completed since the caller looked.
  if state[1] and state[1] ~= '-1' then isComplete = state[2] == '1' end
  redis.call('DEL', stateName, 'answers:' .. ARGV[3])
  if ARGV[9] ~= '0' then
    redis.call('HSET', stateName, 'n', '-1', 'done', '1', 'digest', '-', 'survey', ARGV[2])
    redis.call('EXPIRE', stateName, ARGV[9])
  end
end

local key = prefix .. 'survey:' .. ARGV[2]
-- An intake that had forgotten the survey may have begun to count it anew, without what was on its way then.
local function giveBack(field)
  if (tonumber(redis.call('HGET', key, field) or '') or 0) > 0 then redis.call('HINCRBY', key, field, -1) end
end
giveBack('total')
if isComplete then giveBack('completed') end
redis.call('HINCRBY', key, 'pending', #ARGV[5])
redis.call('INCRBY', prefix .. 'pending', #ARGV[5])
redis.call('XADD', KEYS[1], '*', 'n', 1, 'codes', 0, 'surveys', ARGV[2], 'sizes', #ARGV[5], 'filled', '', 'rows', ARGV[5])
return 1
