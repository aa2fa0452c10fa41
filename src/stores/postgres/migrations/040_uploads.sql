-- Files of respondents. A row is written when its file is stored, under the row's id in the upload storage.
CREATE TABLE uploads (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys,
  question_id uuid NOT NULL,
  -- name given by the sender; never part of a path
  file_name text NOT NULL,
  -- detected from the content
  mime_type text NOT NULL,
  size bigint NOT NULL,
  sha256 text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- the response that it belongs to, and the number of its submissions that claim it; refused submissions release their claim
  response_id uuid,
  holds integer NOT NULL DEFAULT 0,
  claimed_at timestamptz,
  -- whether its response was found in ClickHouse
  is_kept boolean NOT NULL DEFAULT false
);
CREATE INDEX uploads_response ON uploads (response_id) WHERE response_id IS NOT NULL;
CREATE INDEX uploads_survey ON uploads (survey_id);
CREATE INDEX uploads_unsettled ON uploads (coalesce(claimed_at, created_at)) WHERE NOT is_kept;
