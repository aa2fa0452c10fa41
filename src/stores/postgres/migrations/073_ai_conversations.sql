-- Drafts of surveys, refined in conversations.
CREATE TABLE ai_conversations (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  provider text NOT NULL,
  -- messages, oldest first: {role, text}
  turns jsonb NOT NULL,
  draft jsonb NOT NULL,
  -- number of turns, so that only one of two concurrent turns is stored
  revision integer NOT NULL DEFAULT 1,
  -- the survey created from the draft
  survey_id uuid,
  saved_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ai_conversations_of_owner ON ai_conversations (owner_id);
