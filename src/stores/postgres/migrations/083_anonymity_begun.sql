-- Set while a survey is anonymous but it is not sure yet that no response names its respondent: the revision that made it so.
ALTER TABLE surveys ADD COLUMN anonymity_begun bigint;
