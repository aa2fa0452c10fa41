-- Leases a shard to one ingest process, or renews the lease. KEYS[1] the owner's key. ARGV: prefix, name of the
-- process, ms of the lease.
-- Returns the fencing number, or 0 while another process owns the shard.
local fenceName = ARGV[1] .. 'fence'
local owner = redis.call('HMGET', KEYS[1], 'name', 'fence')
if not owner[1] then
  -- Lets the script write although the memory is full: see write-as-owner.lua.
  redis.call('DEL', KEYS[1])
  local fence = redis.call('INCR', fenceName)
  redis.call('HSET', KEYS[1], 'name', ARGV[2], 'fence', fence)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return fence
end
if owner[1] ~= ARGV[2] then
  -- After the clock was set back a lease would last as much longer: it ends after its usual time from now.
  if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return tonumber(owner[2])
