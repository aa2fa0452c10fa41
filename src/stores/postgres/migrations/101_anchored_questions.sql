-- Whether a question keeps its place when the questions of its section are shuffled.
ALTER TABLE questions ADD COLUMN is_anchored boolean NOT NULL DEFAULT false;
