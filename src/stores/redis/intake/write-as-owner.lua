-- Writes only a shard's present owner may make. KEYS[1] the owner's key. ARGV: prefix, name, fence, what, …
--   'dead-letter', reason, rows : keeps rows that cannot be stored; once, however often it is said
--   'stored', last id, surveys  : the batch is in the response store; marks its surveys (ids, joined by commas)
--   'acknowledge', id, entries, bytes, then survey id, bytes of each: all up to this entry is in the response store; so much more than before
--   'dispatched', id             : webhooks and quotas have had all up to this entry
--   'release'                   : gives the shard up
-- Returns 1, or 0 when another process owns the shard by now.
local holder = redis.call('HMGET', KEYS[1], 'name', 'fence')
if holder[1] ~= ARGV[2] or holder[2] ~= ARGV[3] then return 0 end
local prefix, what = ARGV[1], ARGV[4]
-- While the memory is full Redis lets a script write what takes some only if it has written before. This must go on then: it alone makes room.
redis.call('DEL', prefix .. 'nothing')
if what == 'dead-letter' then
  if redis.call('SET', prefix .. 'buried:' .. redis.sha1hex(ARGV[6]), '1', 'NX', 'EX', 864000) then
    redis.call('XADD', prefix .. 'dead', '*', 'reason', ARGV[5], 'rows', ARGV[6])
  end
elseif what == 'stored' then
  -- For an hour: what is counted is kept only for surveys that have a mark.
  for surveyId in string.gmatch(ARGV[6], '[^,]+') do redis.call('SET', prefix .. 'stored:' .. surveyId, ARGV[5], 'EX', 3600) end
elseif what == 'acknowledge' then
  -- An intake of a former version has handed on what it had acknowledged.
  redis.call('SETNX', prefix .. 'handed-on', redis.call('GET', prefix .. 'acked') or '0-0')
  -- Sent again after a broken connection it counts once.
  if redis.call('SET', prefix .. 'acked', ARGV[5], 'GET') ~= ARGV[5] then
    redis.call('INCRBY', prefix .. 'acked-entries', ARGV[6])
    redis.call('DECRBY', prefix .. 'pending', ARGV[7])
    for i = 8, #ARGV, 2 do
      local survey = prefix .. 'survey:' .. ARGV[i]
      -- One that was deleted, or forgotten, meanwhile has nothing waiting.
      if redis.call('HEXISTS', survey, 'pending') == 1 then redis.call('HINCRBY', survey, 'pending', -tonumber(ARGV[i + 1])) end
    end
  end
elseif what == 'dispatched' then
  redis.call('SET', prefix .. 'handed-on', ARGV[5])
elseif what == 'release' then
  redis.call('DEL', KEYS[1])
end
return 1
