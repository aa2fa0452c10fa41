SET LOCAL statement_timeout = 0;

-- The name under which each theme that a model has named is counted. Findings keep what was said; this alone says what is the same.
CREATE TABLE ai_themes (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  topic text NOT NULL,
  -- as the model said it
  name text NOT NULL,
  -- without what makes two spellings of one name
  form text NOT NULL,
  -- a name that is shown as itself: never a chain
  shown text NOT NULL,
  -- of a name that is shown: it was held against the others and stays
  is_settled boolean NOT NULL DEFAULT false,
  PRIMARY KEY (survey_id, topic, name)
);
CREATE INDEX ai_themes_of_form ON ai_themes (survey_id, topic, form);
CREATE INDEX ai_themes_of_shown ON ai_themes (survey_id, topic, shown);

-- What was shown so far stays as it is.
INSERT INTO ai_themes (survey_id, topic, name, form, shown, is_settled)
SELECT DISTINCT survey_id, topic, name, lower(name), name, true
FROM ai_findings CROSS JOIN LATERAL jsonb_array_elements_text(finding->'themes') said(name) WHERE jsonb_exists(finding, 'themes');
