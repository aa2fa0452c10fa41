-- Null: the defaults of domain/appearance.ts.
ALTER TABLE surveys ADD COLUMN appearance jsonb;

-- The picture above a survey. Copies of a survey have rows of their own.
CREATE TABLE survey_logos (
  survey_id uuid PRIMARY KEY REFERENCES surveys ON DELETE CASCADE,
  -- names the bytes in their public address
  hash text NOT NULL,
  media_type text NOT NULL,
  bytes bytea NOT NULL
);
CREATE INDEX survey_logos_hash ON survey_logos (hash);
