SET LOCAL statement_timeout = 0;

-- Notes on batches of answers; annotations name their note.
CREATE TABLE ai_notes (
  id uuid PRIMARY KEY,
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  topic text NOT NULL,
  note text NOT NULL
);
CREATE INDEX ai_notes_of_topic ON ai_notes (survey_id, topic, id);
ALTER TABLE ai_findings ADD COLUMN note_id uuid;
CREATE INDEX ai_findings_of_note ON ai_findings (note_id) WHERE note_id IS NOT NULL;

-- Summaries of notes or of other summaries, up to the final one.
CREATE TABLE ai_summaries (
  survey_id uuid NOT NULL REFERENCES surveys ON DELETE CASCADE,
  topic text NOT NULL,
  -- digest of the summarised notes
  basis text NOT NULL,
  summary text NOT NULL,
  -- the last job that used it
  seen_by uuid NOT NULL,
  PRIMARY KEY (survey_id, topic, basis)
);

INSERT INTO ai_notes (id, survey_id, topic, note)
SELECT gen_random_uuid(), survey_id, topic, note FROM (SELECT DISTINCT survey_id, topic, finding->>'note' AS note FROM ai_findings WHERE jsonb_exists(finding, 'note')) notes;
UPDATE ai_findings finding SET note_id = notes.id, finding = '{}' FROM ai_notes notes
WHERE notes.survey_id = finding.survey_id AND notes.topic = finding.topic AND notes.note = finding.finding->>'note';
