-- Drafts of surveys that are refined turn by turn.
CREATE TABLE ai_conversations (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  provider text NOT NULL,
  -- what was said, oldest first: {role, text}
  turns jsonb NOT NULL,
  draft jsonb NOT NULL,
  -- counts turns, so that of two at once only one is taken
  revision integer NOT NULL DEFAULT 1,
  -- the survey that it became
  survey_id uuid,
  saved_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ai_conversations_of_owner ON ai_conversations (owner_id);
