-- The survey of an event on a question, response or file.
CREATE INDEX CONCURRENTLY audit_survey ON audit ((details->>'surveyId'), id) WHERE details->>'surveyId' IS NOT NULL;
