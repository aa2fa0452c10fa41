-- Written reports with their figures.
CREATE TABLE ai_reports (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  content jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX ai_reports_of_survey ON ai_reports (survey_id);
