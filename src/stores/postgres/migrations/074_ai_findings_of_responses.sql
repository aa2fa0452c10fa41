-- The findings of a response go with it.
CREATE INDEX ai_findings_of_response ON ai_findings (response_id);
