-- When the pace of an endpoint lets the next event go: whichever process goes on with it.
ALTER TABLE webhooks ADD COLUMN next_turn_at timestamptz;
