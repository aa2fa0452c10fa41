-- The first version whose partial responses mark all that they were not asked. Surveys get it with their next change of
-- wording that leaves them with marks.
ALTER TABLE surveys ADD COLUMN partials_marked_from integer;
