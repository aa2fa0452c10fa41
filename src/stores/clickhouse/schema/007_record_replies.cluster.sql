ALTER TABLE {{records}} {{on_cluster}} ADD COLUMN IF NOT EXISTS reply String DEFAULT ''
