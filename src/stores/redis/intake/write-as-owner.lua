-- Writes that only the present owner of a shard may make. KEYS[1] the owner's key. ARGV: prefix, name, fence, operation
-- and its arguments:
--   'dead-letter', reason, rows : adds rows that cannot be stored to the dead letters, once however often it is sent
--   'stored', last id, surveys  : the batch is in the response store: writes the data version of its surveys (ids,
--                                 joined by commas)
--   'acknowledge', id, entries, bytes, then survey id and bytes of each: all up to this entry is in the response
--                                 store, so many entries and bytes more than before
--   'dispatched', id            : webhooks and quotas have received all up to this entry
--   'release'                   : ends the lease
-- Returns 1, or 0 when another process owns the shard by now.
local owner = redis.call('HMGET', KEYS[1], 'name', 'fence')
if owner[1] ~= ARGV[2] or owner[2] ~= ARGV[3] then return 0 end
local prefix, operation = ARGV[1], ARGV[4]
-- While the memory is full, Redis refuses a write that needs memory unless the script has made another write before.
-- This script must work then, as only acknowledging makes room; so it deletes a key that never exists.
redis.call('DEL', prefix .. 'nothing')
if operation == 'dead-letter' then
  if redis.call('SET', prefix .. 'buried:' .. redis.sha1hex(ARGV[6]), '1', 'NX', 'EX', 864000) then
    redis.call('XADD', prefix .. 'dead', '*', 'reason', ARGV[5], 'rows', ARGV[6])
  end
elseif operation == 'stored' then
  -- Expires after an hour: the query cache keeps counts only of surveys that have a data version.
  for surveyId in string.gmatch(ARGV[6], '[^,]+') do
    redis.call('SET', prefix .. 'stored:' .. surveyId, ARGV[5], 'EX', 3600)
  end
elseif operation == 'acknowledge' then
  -- An earlier version wrote no such position: it had dispatched all that it had acknowledged.
  redis.call('SETNX', prefix .. 'handed-on', redis.call('GET', prefix .. 'acked') or '0-0')
  -- A repeat after a broken connection counts once.
  if redis.call('SET', prefix .. 'acked', ARGV[5], 'GET') ~= ARGV[5] then
    redis.call('INCRBY', prefix .. 'acked-entries', ARGV[6])
    redis.call('DECRBY', prefix .. 'pending', ARGV[7])
    for i = 8, #ARGV, 2 do
      local survey = prefix .. 'survey:' .. ARGV[i]
      -- A survey that was deleted or evicted meanwhile has no such field.
      if redis.call('HEXISTS', survey, 'pending') == 1 then
        -- 0 - n, as -n of 0 is the text '-0', which HINCRBY refuses.
        redis.call('HINCRBY', survey, 'pending', 0 - tonumber(ARGV[i + 1]))
      end
    end
  end
elseif operation == 'dispatched' then
  redis.call('SET', prefix .. 'handed-on', ARGV[5])
elseif operation == 'release' then
  redis.call('DEL', KEYS[1])
end
return 1
