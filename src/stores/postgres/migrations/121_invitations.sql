-- Invitations of collectors. A token is good for one response; only its keyed hash is stored.
CREATE TABLE invitations (
  -- UUIDv7 in the order of the uploaded rows
  id uuid PRIMARY KEY,
  collector_id uuid NOT NULL REFERENCES collectors ON DELETE CASCADE,
  -- no reference of its own, which would be checked for each of 100,000 rows: the collector's is enough
  survey_id uuid NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  reference text,
  language text,
  expires_at timestamptz,
  metadata jsonb NOT NULL DEFAULT '{}',
  -- past expires_at, UNUSED and STARTED mean EXPIRED
  status text NOT NULL DEFAULT 'UNUSED' CHECK (status IN ('UNUSED', 'STARTED', 'COMPLETED', 'REVOKED')),
  created_at timestamptz NOT NULL,
  revoked_at timestamptz,
  -- the day (UTC) of the first save
  used_on date,
  -- of surveys that are not anonymous only
  started_at timestamptz,
  completed_at timestamptz,
  response_id uuid
);
CREATE INDEX invitations_collector ON invitations (collector_id, id);
CREATE INDEX invitations_reference ON invitations (collector_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX invitations_response ON invitations (response_id) WHERE response_id IS NOT NULL;
