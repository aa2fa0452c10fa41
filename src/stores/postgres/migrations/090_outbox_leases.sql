-- Until when a process works on an event. A lease instead of a row lock: no transaction stays open while ClickHouse or
-- Redis is asked.
ALTER TABLE outbox ADD COLUMN leased_until timestamptz;
