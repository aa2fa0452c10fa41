-- Sections of a survey, and what decides which questions a respondent is asked. Null: none.
ALTER TABLE surveys ADD COLUMN sections jsonb, ADD COLUMN is_shuffled boolean NOT NULL DEFAULT false;
ALTER TABLE questions
  ADD COLUMN section_id uuid,
  ADD COLUMN visible_if jsonb,
  ADD COLUMN skips jsonb,
  ADD COLUMN options_from jsonb,
  -- bits of a response's codes that say that the question, or a row of it, was not asked
  ADD COLUMN not_asked jsonb;
