-- Keys of AI providers entered in the application.
CREATE TABLE ai_settings (
  provider text PRIMARY KEY,
  key_sealed bytea NOT NULL,
  key_last_four text NOT NULL,
  endpoint text,
  deployment text,
  model_high text,
  model_low text,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- AI jobs, which may take longer than a request.
CREATE TABLE ai_jobs (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  -- kind of analysis, model and prompt; equal work is done once
  topic text NOT NULL,
  request jsonb NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  progress real NOT NULL DEFAULT 0,
  result jsonb,
  error jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX ai_jobs_once ON ai_jobs (survey_id, topic) WHERE status IN ('PENDING', 'RUNNING');
CREATE INDEX ai_jobs_open ON ai_jobs (updated_at) WHERE status IN ('PENDING', 'RUNNING');

-- Annotation of one answer by a model; renewed only if the answer changes.
CREATE TABLE ai_findings (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  topic text NOT NULL,
  response_id uuid NOT NULL,
  question_id uuid NOT NULL,
  -- digest of the answer's text, to recognise changed answers
  digest bytea NOT NULL,
  finding jsonb NOT NULL,
  -- the last job that has seen the answer; annotations of unseen answers are deleted
  seen_by uuid NOT NULL,
  PRIMARY KEY (survey_id, topic, response_id, question_id)
);
