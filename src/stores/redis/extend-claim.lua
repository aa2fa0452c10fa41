-- Lets a claim last this long from now, unless it has ended or is another's. KEYS[1] the claim's key. ARGV: the claim,
-- ms; 0 ends it.
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
