-- The time by which responses were last judged to be too old, and since when the clock has been far ahead of it.
CREATE TABLE settled_clock (
  is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
  settled_at timestamptz NOT NULL,
  ahead_since timestamptz
);
