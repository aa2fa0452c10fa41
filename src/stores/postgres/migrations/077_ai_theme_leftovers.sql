-- Analyses of which findings were deleted with their responses: a name that only those had is to be forgotten.
CREATE TABLE ai_theme_leftovers (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  topic text NOT NULL,
  PRIMARY KEY (survey_id, topic)
);
