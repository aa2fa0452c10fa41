-- Events of stored responses whose deliveries are not written yet: a row for each batch that ingest has stored.
CREATE TABLE webhook_response_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- number of events in the batch
  events integer NOT NULL,
  content json NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
