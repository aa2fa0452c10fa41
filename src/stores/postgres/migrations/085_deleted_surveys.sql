-- What is left of deleted surveys is looked for every hour.
CREATE INDEX CONCURRENTLY surveys_deleted ON surveys (deleted_at) WHERE deleted_at IS NOT NULL;
