-- For deleting the annotations of a response.
CREATE INDEX ai_findings_of_response ON ai_findings (response_id);
