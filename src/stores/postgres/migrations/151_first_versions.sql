-- The first version that has a question, where it was added after the survey was published: responses to earlier
-- versions were not asked it. Rows of a MATRIX have theirs from now on. 162 fills it for the questions that are there,
-- as the mark asks it to: that takes long, and nobody can read the table until this file is done.
ALTER TABLE questions ADD COLUMN first_version integer;
COMMENT ON COLUMN questions.first_version IS 'to be filled';
