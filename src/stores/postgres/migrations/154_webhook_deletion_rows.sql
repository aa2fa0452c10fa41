-- Rows that delete responses: events that are written before them look them up.
CREATE INDEX webhook_response_events_deletions ON webhook_response_events (survey_id, id)
  WHERE json_array_length(content -> 'deletedKeys') > 0;
