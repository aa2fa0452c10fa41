-- For deleting all jobs of a survey.
CREATE INDEX CONCURRENTLY ai_jobs_survey ON ai_jobs (survey_id) WHERE survey_id IS NOT NULL;
