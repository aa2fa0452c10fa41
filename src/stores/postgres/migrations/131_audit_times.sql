-- The audit is filtered by time.
CREATE INDEX CONCURRENTLY audit_at ON audit (at);
