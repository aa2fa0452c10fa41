-- Of the process that works on a job: one that was silent for so long that another took the job over has no more part in it.
ALTER TABLE ai_jobs ADD COLUMN claim uuid;
