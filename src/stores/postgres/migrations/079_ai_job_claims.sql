-- Claim of the process that works on a job; writes of a former process are ignored after another one has claimed the job.
ALTER TABLE ai_jobs ADD COLUMN claim uuid;
