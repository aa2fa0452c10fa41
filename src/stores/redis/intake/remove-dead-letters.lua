-- Removes dead letters, which count as deletions. KEYS[1] the shard's stream. ARGV: prefix, their ids.
-- Returns how many were there.
local removed = 0
-- While the memory is full, Redis refuses what needs memory unless the script has made another write before.
for i = 2, #ARGV do removed = removed + redis.call('XDEL', ARGV[1] .. 'dead', ARGV[i]) end
if removed > 0 then redis.call('INCRBY', ARGV[1] .. 'removals', removed) end
return removed
