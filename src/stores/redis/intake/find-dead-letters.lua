-- Finds a shard's dead letters of a survey or a response, the oldest first. One call examines a bounded number of them,
-- so that other callers of Redis are not kept waiting.
-- KEYS[1] the dead-letter stream. ARGV: id after which to begin ('' = the first), survey id, response id ('' = any).
-- Returns { id after which to continue ('' = all were examined), then for each match: id, reason, format ('' = the
-- first), rows }.
local after, survey, response = ARGV[1], ARGV[2], ARGV[3]
local step, maxExamined, maxBytes = 20, 1000, 1048576
local reply, examined, bytes = { '' }, 0, 0

-- Rows begin with both ids.
local function matches(rows)
  return (survey == '' or string.sub(rows, 3, 38) == survey)
    and (response == '' or string.sub(rows, 42, 77) == response)
end

repeat
  local deadLetters = redis.call('XRANGE', KEYS[1], after == '' and '-' or '(' .. after, '+', 'COUNT', step)
  for _, deadLetter in ipairs(deadLetters) do
    local fields = { reason = '', rows = '', v = '' }
    for i = 1, #deadLetter[2], 2 do fields[deadLetter[2][i]] = deadLetter[2][i + 1] end
    if matches(fields.rows) then
      for _, value in ipairs({ deadLetter[1], fields.reason, fields.v, fields.rows }) do reply[#reply + 1] = value end
    end
    after, examined, bytes = deadLetter[1], examined + 1, bytes + #fields.rows
  end
  if #deadLetters < step then return reply end
until examined >= maxExamined or bytes >= maxBytes
reply[1] = after
return reply
