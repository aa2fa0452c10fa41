SET LOCAL statement_timeout = 0;

-- Locks in the order of an erasure, which may be running. A later one waits for the tables before it reads ids, so it finds the new ones.
LOCK TABLE ai_notes IN EXCLUSIVE MODE;
LOCK TABLE ai_findings IN EXCLUSIVE MODE;

-- Migrated notes have ids without a time, so new notes were sorted among them and summaries of forty notes each changed every time.
-- They get new ids in the same order, which sort before all ids that begin with a time.
CREATE TEMPORARY TABLE ordered_notes ON COMMIT DROP AS
SELECT id AS before, (substr(place, 1, 8) || '-' || substr(place, 9) || substr(id::text, 14))::uuid AS id
FROM (SELECT id, '0000' || lpad(to_hex(row_number() OVER (ORDER BY id)), 8, '0') AS place FROM ai_notes WHERE substr(id::text, 15, 1) = '4') placed;

UPDATE ai_findings SET note_id = ordered_notes.id FROM ordered_notes WHERE note_id = before;
UPDATE ai_notes SET id = ordered_notes.id FROM ordered_notes WHERE ai_notes.id = before;
