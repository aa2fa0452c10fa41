-- Recently erased responses, whose annotations by running analyses are deleted.
CREATE TABLE ai_erased_responses (
  response_id uuid PRIMARY KEY,
  erased_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ai_erased_responses_of_time ON ai_erased_responses (erased_at);
