-- Submissions accepted under an idempotency key or response id, for three days: hashes, a digest and a time, without personal data.
CREATE TABLE IF NOT EXISTS {{records_storage}} {{on_cluster}}
(
    hash FixedString(24) CODEC(ZSTD(1)),
    version UInt32 CODEC(T64, LZ4),
    digest FixedString(12) CODEC(ZSTD(1)),
    survey_id UUID CODEC(ZSTD(1)),
    submitted_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    is_complete UInt8 CODEC(T64, LZ4),
    accepted_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, LZ4)
)
ENGINE = {{records_engine}}
PARTITION BY toDate(accepted_at)
ORDER BY (hash, version)
TTL accepted_at + INTERVAL 3 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1
