SET LOCAL statement_timeout = 0;

-- In the order of an erasure, which may be under way. One that begins meanwhile waits for the tables before it looks up ids, and so finds the new ones.
LOCK TABLE ai_notes IN EXCLUSIVE MODE;
LOCK TABLE ai_findings IN EXCLUSIVE MODE;

-- Notes that were migrated have ids without a time. New ones came to stand between them, and the summaries of forty notes each were other ones every
-- time. In the order that they have they go before all whose ids begin with a time.
CREATE TEMPORARY TABLE ordered_notes ON COMMIT DROP AS
SELECT id AS before, (substr(place, 1, 8) || '-' || substr(place, 9) || substr(id::text, 14))::uuid AS id
FROM (SELECT id, '0000' || lpad(to_hex(row_number() OVER (ORDER BY id)), 8, '0') AS place FROM ai_notes WHERE substr(id::text, 15, 1) = '4') placed;

UPDATE ai_findings SET note_id = ordered_notes.id FROM ordered_notes WHERE note_id = before;
UPDATE ai_notes SET id = ordered_notes.id FROM ordered_notes WHERE ai_notes.id = before;
