-- Puts a buried row back at the end of the stream, unless it has been erased since it was read, or is of a newer version's form. KEYS[1] the shard's stream.
-- ARGV: prefix, id among the dead letters, number of rows, code positions, survey id, rows. Returns 1, or 0 when it is there no longer or stays.
local letter = redis.call('XRANGE', ARGV[1] .. 'dead', ARGV[2], ARGV[2])[1]
if not letter then return 0 end
for i = 1, #letter[2], 2 do
  if letter[2][i] == 'v' and letter[2][i + 1] ~= '1' then return 0 end
end
if redis.call('XDEL', ARGV[1] .. 'dead', ARGV[2]) == 0 then return 0 end
-- Should it fail again, it is buried again.
redis.call('DEL', ARGV[1] .. 'buried:' .. redis.sha1hex(ARGV[6]))
redis.call('XADD', KEYS[1], '*', 'n', ARGV[3], 'codes', ARGV[4], 'surveys', ARGV[5], 'filled', '', 'rows', ARGV[6])
return 1
