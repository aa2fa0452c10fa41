-- Collectors: the ways by which responses come to a survey. A deleted one stays, because responses name its code.
CREATE TABLE collectors (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  -- number in stored responses; 0: the default collector
  code integer NOT NULL,
  -- 56 random bits: the last seven bytes of a random UUID have no fixed bits
  link_id text NOT NULL UNIQUE
    DEFAULT rtrim(translate(encode(substring(uuid_send(gen_random_uuid()) FROM 10), 'base64'), '+/', '-_'), '='),
  name text NOT NULL DEFAULT 'Default',
  kind text NOT NULL DEFAULT 'OPEN' CHECK (kind IN ('OPEN', 'INVITATION')),
  is_active boolean NOT NULL DEFAULT true,
  opens_at timestamptz,
  closes_at timestamptz,
  response_quota bigint,
  language text,
  metadata jsonb NOT NULL DEFAULT '{}',
  is_deleted boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (survey_id, code)
);

-- Position of the collector's code in stored responses; null while the survey has only its default collector.
ALTER TABLE surveys ADD COLUMN collector_slot integer;

-- Every survey has a default collector, also one that is created by an earlier version during an upgrade.
CREATE FUNCTION add_default_collector() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO collectors (survey_id, code, created_at, updated_at) VALUES (NEW.id, 0, NEW.created_at, NEW.created_at);
  RETURN NULL;
END $$;
CREATE TRIGGER surveys_default_collector AFTER INSERT ON surveys
  FOR EACH ROW EXECUTE FUNCTION add_default_collector();
INSERT INTO collectors (survey_id, code, created_at, updated_at) SELECT id, 0, created_at, created_at FROM surveys
  ON CONFLICT DO NOTHING;
