-- For the hourly search for deleted surveys.
CREATE INDEX CONCURRENTLY surveys_deleted ON surveys (deleted_at) WHERE deleted_at IS NOT NULL;
