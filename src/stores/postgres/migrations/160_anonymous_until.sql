-- When the survey stopped being anonymous: responses that were begun before stay anonymous. Not known of surveys that
-- stopped before this column was there.
ALTER TABLE surveys ADD COLUMN anonymous_until timestamptz;
