-- Which process runs a group of periodic tasks, and until when unless it renews that.
CREATE TABLE leaders (name text PRIMARY KEY, holder text NOT NULL, held_until timestamptz NOT NULL);
