-- One row for each version of a response. The newest version counts; a tombstone (is_deleted) deletes the response.
-- submitted_at never changes for a response, so all its versions are in one partition, next to each other.
-- Columns are those of src/domain/response-row.ts. Code columns are last, so that an inserted row may end early.
CREATE TABLE IF NOT EXISTS {{storage_table}} {{on_cluster}}
(
    survey_id UUID,
    response_id UUID,
    submitted_at DateTime64(3, 'UTC') CODEC(Delta, LZ4),
    version UInt32 CODEC(T64, LZ4),
    is_deleted UInt8 CODEC(T64, LZ4),
    survey_version UInt32 CODEC(T64, LZ4),
    is_complete UInt8 CODEC(T64, LZ4),
    completed_at DateTime64(3, 'UTC') CODEC(Delta, LZ4),
    duration_ms Int64 CODEC(T64, LZ4),
    language LowCardinality(String),
    respondent String CODEC(ZSTD(1)),
    metadata Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    numbers Array(Float64),
    texts Array(String) CODEC(ZSTD(3)),
    {{code_columns}},
    INDEX response_id_bloom response_id TYPE bloom_filter(0.01) GRANULARITY 1,
    -- A few rows for each part: totals of a survey, and the hours with rows in several parts (see counts/overlapping-parts.ts).
    PROJECTION hours
    (
        SELECT
            survey_id, toStartOfHour(submitted_at), is_deleted, is_complete,
            count(), min(submitted_at), max(submitted_at), sumIf(duration_ms, duration_ms >= 0), countIf(duration_ms >= 0)
        GROUP BY survey_id, toStartOfHour(submitted_at), is_deleted, is_complete
    )
)
ENGINE = {{engine}}
PARTITION BY toYYYYMM(submitted_at)
ORDER BY (survey_id, submitted_at, response_id)
SETTINGS
    -- Inserts are acknowledged when they are on disk.
    fsync_after_insert = 1,
    fsync_part_directory = 1,
    -- Merging replaces rows, so projections must be rebuilt.
    deduplicate_merge_projection_mode = 'rebuild',
    -- An idle month is merged into one part, so that reading needs no merging.
    min_age_to_force_merge_seconds = 600,
    min_age_to_force_merge_on_partition_only = 1
