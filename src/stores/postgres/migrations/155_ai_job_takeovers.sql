-- How often a job was taken over from a process that had died or fallen silent, since it last got further.
ALTER TABLE ai_jobs ADD COLUMN takeovers integer NOT NULL DEFAULT 0;
