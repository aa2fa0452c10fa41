-- Jobs without a survey: writing a new one.
ALTER TABLE ai_jobs ALTER COLUMN survey_id DROP NOT NULL;
CREATE UNIQUE INDEX ai_jobs_once_of_owner ON ai_jobs (owner_id, topic) WHERE survey_id IS NULL AND status IN ('PENDING', 'RUNNING');
CREATE INDEX ai_jobs_over ON ai_jobs (updated_at) WHERE status IN ('COMPLETED', 'FAILED', 'CANCELLED');
