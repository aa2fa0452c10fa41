-- Events of stored responses whose deliveries are not written yet.
CREATE TABLE webhook_response_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  survey_id uuid NOT NULL,
  -- number of events, and of responses that were deleted
  events integer NOT NULL,
  -- endpoints that listened
  webhook_ids uuid[] NOT NULL,
  content json NOT NULL,
  -- null: at once; set after a failure
  not_before timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_response_events_survey ON webhook_response_events (survey_id, id);
