-- Suggested wordings of questions, each to be accepted or rejected.
CREATE TABLE ai_suggestions (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  question_id uuid NOT NULL,
  aspect text NOT NULL,
  problem text NOT NULL,
  suggestion jsonb NOT NULL,
  -- the wording that it improves; not valid for another one
  basis jsonb NOT NULL,
  -- the wording after its acceptance
  applied jsonb,
  status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'ACCEPTED', 'REJECTED')),
  decided_by uuid,
  decided_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ai_suggestions_of_question ON ai_suggestions (question_id, id);
CREATE INDEX ai_suggestions_of_survey ON ai_suggestions (survey_id);
