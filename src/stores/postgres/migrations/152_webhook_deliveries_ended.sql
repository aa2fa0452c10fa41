-- Finds ended deliveries whose retention is over; without it every row was read for that.
CREATE INDEX CONCURRENTLY webhook_deliveries_ended ON webhook_deliveries (webhook_id, created_at)
  WHERE status <> 'PENDING';
