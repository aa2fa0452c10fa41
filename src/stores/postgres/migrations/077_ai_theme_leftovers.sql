-- Analyses with deleted annotations, whose unused theme names are to be deleted.
CREATE TABLE ai_theme_leftovers (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  topic text NOT NULL,
  PRIMARY KEY (survey_id, topic)
);
