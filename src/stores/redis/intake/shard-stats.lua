-- Reads the length and lag of a shard's stream without sending its entries. KEYS[1] the stream. ARGV: prefix.
-- Returns { length, entries not acknowledged, id of the oldest of them or '', id of the oldest entry that is
-- acknowledged and not forwarded or '' }.
local acked = redis.call('GET', ARGV[1] .. 'acked') or '0-0'
local forwarded = redis.call('GET', ARGV[1] .. 'handed-on') or acked
local length = redis.call('XLEN', KEYS[1])
local unforwarded = ''
if forwarded ~= acked then
  local first = redis.call('XRANGE', KEYS[1], '(' .. forwarded, acked, 'COUNT', 1)
  if #first > 0 then unforwarded = first[1][1] end
end
local oldest = redis.call('XRANGE', KEYS[1], '(' .. acked, '+', 'COUNT', 1)
if #oldest == 0 then return { length, 0, '', unforwarded } end
local info, added = redis.call('XINFO', 'STREAM', KEYS[1]), 0
for i = 1, #info, 2 do
  if info[i] == 'entries-added' then added = info[i + 1] end
end
local lag = added - tonumber(redis.call('GET', ARGV[1] .. 'acked-entries') or '0')
return { length, lag, oldest[1][1], unforwarded }
