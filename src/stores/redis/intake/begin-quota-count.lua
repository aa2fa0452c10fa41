-- Begins to count the stored responses in a survey's quotas by cell, while submissions are frozen. KEYS[1] the hash of
-- its quotas, KEYS[2] the survey's hash. ARGV: a name of this count, the value of the freeze.
-- From here on append.lua notes what is added. Returns the fields of the hash, or nothing where the freeze is over.
if redis.call('HGET', KEYS[2], 'held') ~= ARGV[2] then return nil end
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 1) == 'd' then redis.call('HDEL', KEYS[1], field) end
end
redis.call('HSET', KEYS[1], 'counting', ARGV[1])
return redis.call('HGETALL', KEYS[1])
