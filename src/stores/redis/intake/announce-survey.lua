-- Writes what the intake must know of a survey's row. KEYS[1] the survey's hash.
-- ARGV: revision, quota ('' = none), code positions, total and completed (used only where the intake does not know
-- them),
--   revision to be overruled ('' = none): that of a deleted survey which the database has again,
--   then for each collector whose complete responses are counted: code, quota ('' = none), complete responses (used
--   only where the intake does not know the survey).
-- Returns 1 when written, 0 when the intake already knows this revision or a newer one.
local rev = redis.call('HGET', KEYS[1], 'rev')
if rev == ARGV[6] then redis.call('PERSIST', KEYS[1])
elseif rev and tonumber(rev) >= tonumber(ARGV[1]) then return 0 end
local isNew = redis.call('HSETNX', KEYS[1], 'total', ARGV[4]) == 1
redis.call('HSETNX', KEYS[1], 'completed', ARGV[5])
-- A new revision ends the freeze: whoever froze the survey saves this revision, or finds that the survey has changed.
if rev then redis.call('HDEL', KEYS[1], 'held') end
redis.call('HSET', KEYS[1], 'rev', ARGV[1], 'quota', ARGV[2], 'codes', ARGV[3], 'filled', '0')

-- Responses of a collector are counted from its first announcement, when it has none. All that were accepted before any
-- was counted came by the default collector (code 0).
local ofOthers = 0
for i = 7, #ARGV, 3 do
  local code = ARGV[i]
  if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], 'quota:' .. code)
  else redis.call('HSET', KEYS[1], 'quota:' .. code, ARGV[i + 1]) end
  if code ~= '0' then
    redis.call('HSETNX', KEYS[1], 'completed:' .. code, isNew and ARGV[i + 2] or 0)
    ofOthers = ofOthers + tonumber(redis.call('HGET', KEYS[1], 'completed:' .. code))
  end
end
if #ARGV > 6 and redis.call('HEXISTS', KEYS[1], 'completed:0') == 0 then
  local completed = tonumber(redis.call('HGET', KEYS[1], 'completed'))
  redis.call('HSET', KEYS[1], 'completed:0', math.max(0, completed - ofOthers))
end
return 1
