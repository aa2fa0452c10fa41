-- Users, surveys and their wording. Responses live in ClickHouse.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text NOT NULL,
  -- normalised for comparison and uniqueness: NFKC, lower case
  email_key text NOT NULL UNIQUE,
  password_hash text NOT NULL,
  role text NOT NULL CHECK (role IN ('ADMIN', 'EDITOR', 'VIEWER')),
  is_disabled boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- One row for each login, with the chain of its refresh tokens.
CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  end_reason text
);
CREATE INDEX sessions_user ON sessions (user_id) WHERE ended_at IS NULL;

CREATE TABLE refresh_tokens (
  token_hash bytea PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
  parent_hash bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  -- the successor, encrypted, so that a repeat within the grace period can be answered with the same token
  successor_sealed bytea
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('ADMIN', 'EDITOR', 'VIEWER')),
  key_hash bytea NOT NULL UNIQUE,
  last_four text NOT NULL,
  requests_per_minute integer,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);

CREATE TABLE surveys (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES users,
  title text NOT NULL,
  description text,
  status text NOT NULL CHECK (status IN ('DRAFT', 'ACTIVE', 'PAUSED', 'CLOSED')),
  closed_reason text CHECK (closed_reason IN ('MANUAL', 'ENDED', 'QUOTA')),
  is_anonymous boolean NOT NULL,
  visibility text NOT NULL CHECK (visibility IN ('PUBLIC', 'PRIVATE')),
  access_token text,
  response_quota bigint,
  submission_rate_limit integer,
  starts_at timestamptz,
  ends_at timestamptz,
  ai_enabled boolean NOT NULL,
  language text NOT NULL,
  retention_days integer,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  published_at timestamptz,
  closed_at timestamptz,
  version integer NOT NULL,
  revision bigint NOT NULL,
  code_slots integer NOT NULL,
  number_slots integer NOT NULL,
  text_slots integer NOT NULL,
  deleted_at timestamptz
);
CREATE INDEX surveys_owner ON surveys (owner_id, created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX surveys_due ON surveys (status, starts_at, ends_at) WHERE deleted_at IS NULL;

-- Separate from surveys, because it changes with every batch of responses.
CREATE TABLE survey_counts (
  survey_id uuid PRIMARY KEY REFERENCES surveys ON DELETE CASCADE,
  responses bigint NOT NULL DEFAULT 0,
  completed bigint NOT NULL DEFAULT 0
);

CREATE TABLE survey_members (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('EDITOR', 'VIEWER')),
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (survey_id, user_id)
);
CREATE INDEX survey_members_user ON survey_members (user_id);

CREATE TABLE questions (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  type text NOT NULL,
  text text NOT NULL,
  description text,
  is_required boolean NOT NULL,
  position integer NOT NULL,
  options jsonb NOT NULL,
  rows jsonb NOT NULL,
  settings jsonb NOT NULL,
  slots jsonb NOT NULL,
  is_hidden boolean NOT NULL DEFAULT false
);
CREATE INDEX questions_survey ON questions (survey_id, position);

-- All versions of a survey's wording; responses name the version that they answered.
CREATE TABLE survey_versions (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  version integer NOT NULL,
  definition jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (survey_id, version)
);

-- Outbox: events of committed changes, written in the transaction of the change and delivered later.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  -- at most one row a cause: a repeated transition writes no second event
  cause text UNIQUE,
  payload jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  done_at timestamptz,
  attempts integer NOT NULL DEFAULT 0
);
CREATE INDEX outbox_open ON outbox (id) WHERE done_at IS NULL;

-- Audit events: who did what to which object, and when. Append-only.
CREATE TABLE audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor_id uuid,
  actor_kind text NOT NULL,
  action text NOT NULL,
  object_kind text NOT NULL,
  object_id text NOT NULL,
  details jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_object ON audit (object_kind, object_id, id);
