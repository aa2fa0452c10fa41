-- When the rate limit of an endpoint allows the next event, in any process.
ALTER TABLE webhooks ADD COLUMN next_turn_at timestamptz;
