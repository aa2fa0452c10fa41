-- Calls to AI providers with their usage.
CREATE TABLE ai_usage (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  provider text NOT NULL,
  model text NOT NULL,
  -- kind of task: survey, sentiment, themes …
  task text NOT NULL,
  -- user and survey; usage outlives both
  user_id uuid,
  survey_id uuid,
  is_failed boolean NOT NULL,
  input_tokens integer NOT NULL,
  output_tokens integer NOT NULL,
  -- null if the price of the model is unknown
  cost_usd numeric(14, 8)
);
CREATE INDEX ai_usage_at ON ai_usage (at);
CREATE INDEX ai_usage_user ON ai_usage (user_id, at);
