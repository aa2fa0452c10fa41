-- Requested export files. The row is the record; the queue only wakes a worker.
CREATE TABLE exports (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  format text NOT NULL,
  -- requested dates, filters, columns and labels
  options jsonb NOT NULL,
  -- the survey version of the file; fixed, so that a second run makes the same file
  survey_version integer NOT NULL,
  status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'EXPIRED')),
  progress double precision NOT NULL DEFAULT 0,
  row_count bigint,
  file_size bigint,
  sha256 text,
  error text,
  created_at timestamptz NOT NULL,
  completed_at timestamptz,
  expires_at timestamptz
);
CREATE INDEX exports_user ON exports (user_id, created_at DESC);
CREATE INDEX exports_survey ON exports (survey_id);
CREATE INDEX exports_open ON exports (created_at) WHERE status IN ('PENDING', 'PROCESSING');
CREATE INDEX exports_expiring ON exports (expires_at) WHERE status = 'COMPLETED';
