-- Fills first_version of the questions that were there before 151. Not where 151 did so itself, as it formerly did, and
-- left no mark: versions that nothing refers to have been removed since, and questions would seem younger than they are.
UPDATE questions q SET first_version = added.version
FROM (
  SELECT v.survey_id, (question->>'id')::uuid AS id, min(v.version) AS version
  FROM survey_versions v JOIN surveys s ON s.id = v.survey_id AND s.published_at IS NOT NULL AND s.deleted_at IS NULL,
    jsonb_array_elements(v.definition->'questions') question
  WHERE EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = 'questions'::regclass AND attname = 'first_version'
      AND col_description(attrelid, attnum) = 'to be filled')
  GROUP BY 1, 2) added
JOIN survey_versions v ON v.survey_id = added.survey_id AND v.version = added.version
JOIN surveys s ON s.id = added.survey_id AND v.created_at > s.published_at
WHERE q.id = added.id AND q.first_version IS NULL;

COMMENT ON COLUMN questions.first_version IS NULL;
