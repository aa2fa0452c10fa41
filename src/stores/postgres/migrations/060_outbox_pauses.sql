-- A row that could not be delivered waits until this time, so that it delays no others.
ALTER TABLE outbox ADD COLUMN next_attempt_at timestamptz NOT NULL DEFAULT now();
DROP INDEX outbox_open;
CREATE INDEX outbox_open ON outbox (kind, id) WHERE done_at IS NULL;
