-- Deletes one response: gives its seat back, forgets its state and appends the tombstone row.
-- KEYS[1] the shard's stream. ARGV: prefix, survey id, response id, isComplete '1'/'0', tombstone row, seconds to remember the deletion.
-- Returns 1, or 0 when it was deleted before.
local prefix = ARGV[1]
local stateName = 'response:' .. ARGV[3]
-- States lay in a name space of the shard's own before.
if redis.call('EXISTS', prefix .. stateName) == 1 then redis.call('RENAMENX', prefix .. stateName, stateName) end
if not redis.call('SET', prefix .. 'removed:' .. ARGV[3], '1', 'NX', 'EX', ARGV[6]) then return 0 end
redis.call('INCR', prefix .. 'removals')
local isComplete = ARGV[4] == '1'
-- A partial response may have been completed since the caller looked.
local state = redis.call('HMGET', stateName, 'done')
if state[1] then isComplete = state[1] == '1' end
redis.call('HSET', stateName, 'n', '-1', 'done', '1', 'digest', '-', 'reply', '', 'data', '', 'survey', ARGV[2])
redis.call('EXPIRE', stateName, ARGV[6])
redis.call('DEL', 'answers:' .. ARGV[3])
local key = prefix .. 'survey:' .. ARGV[2]
if redis.call('EXISTS', key) == 1 then
  redis.call('HINCRBY', key, 'total', -1)
  if isComplete then redis.call('HINCRBY', key, 'completed', -1) end
end
redis.call('XADD', KEYS[1], '*', 'n', 1, 'codes', 0, 'surveys', ARGV[2], 'filled', '', 'rows', ARGV[5])
return 1
