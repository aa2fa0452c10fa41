-- The revision that made the survey anonymous, while responses may still name their respondent.
ALTER TABLE surveys ADD COLUMN anonymity_begun bigint;
