-- For the sum of a survey's unclaimed bytes, which every upload asks for.
CREATE INDEX uploads_unclaimed ON uploads (survey_id) INCLUDE (size) WHERE response_id IS NULL AND NOT is_kept;
