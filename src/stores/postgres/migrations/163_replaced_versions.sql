-- When the next version was made, which may be removed earlier. Noted before versions are removed; null until then: it is
-- the time of the next one that is there.
ALTER TABLE survey_versions ADD COLUMN replaced_at timestamptz;
