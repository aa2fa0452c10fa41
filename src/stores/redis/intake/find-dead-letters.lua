-- Looks through a shard's dead letters, from the oldest, for those of a survey or a response; others are not sent. So many at once as others
-- who want to be served can wait for. KEYS[1] the dead letters. ARGV: id after which to begin ('' = the first), survey id, response id ('' = any).
-- Returns { id after which to go on, '' = all were seen; then of each that fits id, reason, form ('' = the first), rows }.
local after, survey, response = ARGV[1], ARGV[2], ARGV[3]
local step, lettersAtOnce, bytesAtOnce = 20, 1000, 1048576
local reply, seen, bytes = { '' }, 0, 0

-- Rows begin with both ids.
local function fits(rows)
  return (survey == '' or string.sub(rows, 3, 38) == survey) and (response == '' or string.sub(rows, 42, 77) == response)
end

repeat
  local letters = redis.call('XRANGE', KEYS[1], after == '' and '-' or '(' .. after, '+', 'COUNT', step)
  for _, letter in ipairs(letters) do
    local fields = { reason = '', rows = '', v = '' }
    for i = 1, #letter[2], 2 do fields[letter[2][i]] = letter[2][i + 1] end
    if fits(fields.rows) then
      for _, value in ipairs({ letter[1], fields.reason, fields.v, fields.rows }) do reply[#reply + 1] = value end
    end
    after, seen, bytes = letter[1], seen + 1, bytes + #fields.rows
  end
  if #letters < step then return reply end
until seen >= lettersAtOnce or bytes >= bytesAtOnce
reply[1] = after
return reply
