-- These rows live for seconds or minutes, and compressing their content took half of the time of writing them.
ALTER TABLE webhook_response_events ALTER COLUMN content SET STORAGE EXTERNAL;
