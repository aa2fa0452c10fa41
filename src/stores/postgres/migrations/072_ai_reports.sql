-- Reports as they were written, with the figures that they speak of.
CREATE TABLE ai_reports (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  content jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX ai_reports_of_survey ON ai_reports (survey_id);
