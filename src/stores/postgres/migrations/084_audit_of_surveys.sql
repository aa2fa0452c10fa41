-- What was done in a survey: to its questions, responses and files, which are objects of their own.
CREATE INDEX CONCURRENTLY audit_survey ON audit ((details->>'surveyId'), id) WHERE details->>'surveyId' IS NOT NULL;
