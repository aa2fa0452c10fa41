-- Marks in progress. Later deletions add a mark of their own without waiting.
ALTER TABLE ai_theme_leftovers ADD COLUMN is_taken boolean NOT NULL DEFAULT false;
ALTER TABLE ai_theme_leftovers DROP CONSTRAINT ai_theme_leftovers_pkey;
ALTER TABLE ai_theme_leftovers ADD PRIMARY KEY (survey_id, topic, is_taken);
