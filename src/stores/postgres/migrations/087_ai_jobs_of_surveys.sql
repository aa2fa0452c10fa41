-- They go with their survey, also those that are over.
CREATE INDEX CONCURRENTLY ai_jobs_survey ON ai_jobs (survey_id) WHERE survey_id IS NOT NULL;
