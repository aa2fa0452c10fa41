-- Endpoints that clients want to be told at.
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- what the caller was when the endpoint was made: a lesser key of an ADMIN must not hear of everything
  made_as text NOT NULL CHECK (made_as IN ('ADMIN', 'EDITOR')),
  -- null: all surveys that the owner may see
  survey_id uuid REFERENCES surveys ON DELETE CASCADE,
  url text NOT NULL,
  events text[] NOT NULL,
  description text,
  is_active boolean NOT NULL,
  is_batch boolean NOT NULL,
  max_per_second integer,
  max_age_seconds integer NOT NULL,
  secret_sealed bytea NOT NULL,
  -- signs too until the time beside it
  old_secret_sealed bytea,
  old_secret_until timestamptz,
  -- the first failure since the last success
  failing_since timestamptz,
  -- the endpoint asked for a pause (Retry-After)
  paused_until timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  -- one process at a time delivers to an endpoint
  leased_by uuid,
  leased_until timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX webhooks_owner ON webhooks (owner_id, id DESC);
CREATE INDEX webhooks_survey ON webhooks (survey_id) WHERE is_active;

-- An event on its way to one endpoint: the record of what was sent and what must still be. Its id is the webhook-id.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event text NOT NULL,
  -- names the cause: a repeated fan-out adds nothing
  event_key text NOT NULL,
  occurred_at timestamptz NOT NULL,
  data jsonb NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
  attempts jsonb NOT NULL DEFAULT '[]',
  -- failed attempts since it last became pending
  tries integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  pending_since timestamptz NOT NULL,
  -- rows that travel in one request, under this webhook-id
  batch_id uuid,
  created_at timestamptz NOT NULL,
  UNIQUE (webhook_id, event_key)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, pending_since) WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, id DESC);
CREATE INDEX webhook_deliveries_batch ON webhook_deliveries (batch_id) WHERE batch_id IS NOT NULL AND status = 'PENDING';
