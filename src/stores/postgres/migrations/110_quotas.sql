-- Quotas by cell. `code` is a quota's number in the intake, never reused in its survey. `version` increases with every
-- change of what the quota counts.
CREATE TABLE quotas (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys (id) ON DELETE CASCADE,
  code integer NOT NULL,
  name text NOT NULL,
  seats bigint NOT NULL,
  condition jsonb NOT NULL,
  counts text NOT NULL,
  when_full text NOT NULL,
  is_active boolean NOT NULL,
  version integer NOT NULL,
  UNIQUE (survey_id, code)
);

-- The highest code that was given in a survey.
ALTER TABLE surveys ADD COLUMN quota_codes integer NOT NULL DEFAULT 0;
