-- Names that people gave to themes, in all analyses of a survey.
CREATE TABLE ai_theme_names (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  -- normalised form of the name before
  form text NOT NULL,
  theme text NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (survey_id, form)
);
