-- The first version that has a question, where it was added after the survey was published: responses to earlier
-- versions were not asked it. Rows of a MATRIX have theirs from now on.
ALTER TABLE questions ADD COLUMN first_version integer;

UPDATE questions q SET first_version = added.version
FROM (
  SELECT v.survey_id, (question->>'id')::uuid AS id, min(v.version) AS version
  FROM survey_versions v JOIN surveys s ON s.id = v.survey_id AND s.published_at IS NOT NULL AND s.deleted_at IS NULL,
    jsonb_array_elements(v.definition->'questions') question
  GROUP BY 1, 2) added
JOIN survey_versions v ON v.survey_id = added.survey_id AND v.version = added.version
JOIN surveys s ON s.id = added.survey_id AND v.created_at > s.published_at
WHERE q.id = added.id;
