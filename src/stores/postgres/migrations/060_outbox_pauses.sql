-- A row that could not be delivered waits for its next turn, so that it stands in nobody's way.
ALTER TABLE outbox ADD COLUMN next_attempt_at timestamptz NOT NULL DEFAULT now();
DROP INDEX outbox_open;
CREATE INDEX outbox_open ON outbox (kind, id) WHERE done_at IS NULL;
