-- Endpoints that receive events.
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- role of the caller who created the endpoint: a key of an ADMIN with fewer rights must not receive all events
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
  -- also signs until the time in the next column
  old_secret_sealed bytea,
  old_secret_until timestamptz,
  -- the first failure since the last success
  failing_since timestamptz,
  -- the endpoint requested a pause (Retry-After)
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

-- Deliveries of events to endpoints, sent or waiting. The id is the webhook-id.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event text NOT NULL,
  -- identifies the cause, so that a repeated fan-out adds nothing
  event_key text NOT NULL,
  occurred_at timestamptz NOT NULL,
  data jsonb NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
  attempts jsonb NOT NULL DEFAULT '[]',
  -- failed attempts since it last became pending
  tries integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  pending_since timestamptz NOT NULL,
  -- deliveries sent in one request, under this webhook-id
  batch_id uuid,
  created_at timestamptz NOT NULL,
  UNIQUE (webhook_id, event_key)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, pending_since) WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, id DESC);
CREATE INDEX webhook_deliveries_batch ON webhook_deliveries (batch_id) WHERE batch_id IS NOT NULL AND status = 'PENDING';
