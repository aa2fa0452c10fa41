-- Until when a job waits for the limits of its provider: nobody waits for it with an open request meanwhile.
ALTER TABLE ai_jobs ADD COLUMN waits_until timestamptz;
