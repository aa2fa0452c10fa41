-- The wording of a survey in other languages. `strings`: key (domain/translation) → {text, source}; source is a hash of the wording that it translates.
CREATE TABLE translations (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  language text NOT NULL,
  strings jsonb NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (survey_id, language)
);
