-- What the first reply said of the path, for repeats: `:` and the code of a full quota by cell, `/` and the ends of the ids of ignored questions.
ALTER TABLE {{records_storage}} {{on_cluster}} ADD COLUMN IF NOT EXISTS reply String DEFAULT '' CODEC(ZSTD(1))
