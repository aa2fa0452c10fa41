SET LOCAL statement_timeout = 0;

-- The name under which each theme is counted. Annotations keep the model's names; merged names are stored here only.
CREATE TABLE ai_themes (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  topic text NOT NULL,
  -- name given by the model
  name text NOT NULL,
  -- normalised form, equal for spellings of one name
  form text NOT NULL,
  -- the name that is shown; never one that is merged itself
  shown text NOT NULL,
  -- whether a shown name was compared with the others and is settled
  is_settled boolean NOT NULL DEFAULT false,
  PRIMARY KEY (survey_id, topic, name)
);
CREATE INDEX ai_themes_of_form ON ai_themes (survey_id, topic, form);
CREATE INDEX ai_themes_of_shown ON ai_themes (survey_id, topic, shown);

-- Names shown so far stay as they are.
INSERT INTO ai_themes (survey_id, topic, name, form, shown, is_settled)
SELECT DISTINCT survey_id, topic, name, lower(name), name, true
FROM ai_findings CROSS JOIN LATERAL jsonb_array_elements_text(finding->'themes') said(name) WHERE jsonb_exists(finding, 'themes');
