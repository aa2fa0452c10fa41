-- Until when a job waits for its provider's limits; open requests do not wait meanwhile.
ALTER TABLE ai_jobs ADD COLUMN waits_until timestamptz;
