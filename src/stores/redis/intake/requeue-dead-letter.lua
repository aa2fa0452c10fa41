-- Moves a dead letter back to the end of the stream, unless it was erased since it was read or has the format of a
-- newer version. KEYS[1] the shard's stream.
-- ARGV: prefix, id of the dead letter, number of rows, code positions, survey id, rows.
-- Returns 1, or 0 when it is not there any more or stays.
local deadLetter = redis.call('XRANGE', ARGV[1] .. 'dead', ARGV[2], ARGV[2])[1]
if not deadLetter then return 0 end
for i = 1, #deadLetter[2], 2 do
  if deadLetter[2][i] == 'v' and deadLetter[2][i + 1] ~= '1' then return 0 end
end
if redis.call('XDEL', ARGV[1] .. 'dead', ARGV[2]) == 0 then return 0 end
-- Without this mark the row becomes a dead letter again if it fails again.
redis.call('DEL', ARGV[1] .. 'buried:' .. redis.sha1hex(ARGV[6]))
redis.call('XADD', KEYS[1], '*', 'n', ARGV[3], 'codes', ARGV[4], 'surveys', ARGV[5], 'filled', '', 'rows', ARGV[6])
-- Of a row that could not be read a count of the stored responses has left out the seats in quotas by cell.
for surveyId in string.gmatch(ARGV[5], '[^,]+') do
  local quotas = ARGV[1] .. 'quotas:' .. surveyId
  if redis.call('EXISTS', quotas) == 1 then
    redis.call('HINCRBY', quotas, 'removals', 1)
    redis.call('SADD', ARGV[1] .. 'quotas-to-count', surveyId)
  end
end
return 1
