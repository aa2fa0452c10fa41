-- Files that respondents sent. A row is written when its file is whole; the file lies in the upload storage under the row's id.
CREATE TABLE uploads (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys,
  question_id uuid NOT NULL,
  -- as the sender named it; never part of a path
  file_name text NOT NULL,
  -- found by looking at the content
  mime_type text NOT NULL,
  size bigint NOT NULL,
  sha256 text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- the one response that it belongs to, and how many submissions of that response hold it: a refused one lets go, an accepted one never does
  response_id uuid,
  holds integer NOT NULL DEFAULT 0,
  claimed_at timestamptz,
  -- its response was seen in the response store
  is_kept boolean NOT NULL DEFAULT false
);
CREATE INDEX uploads_response ON uploads (response_id) WHERE response_id IS NOT NULL;
CREATE INDEX uploads_survey ON uploads (survey_id);
CREATE INDEX uploads_unsettled ON uploads (coalesce(claimed_at, created_at)) WHERE NOT is_kept;
