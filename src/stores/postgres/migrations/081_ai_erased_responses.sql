-- Responses that were erased while an analysis may have had them under way: what it then stores of them is dropped.
CREATE TABLE ai_erased_responses (
  response_id uuid PRIMARY KEY,
  erased_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ai_erased_responses_of_time ON ai_erased_responses (erased_at);
