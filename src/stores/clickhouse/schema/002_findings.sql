-- AI annotations of open answers, one row for each value. An edition contains those of one analysis: it is written once, read when it is
-- complete, and removed when newer ones have replaced it. Deleted responses are known from `responses` only.
CREATE TABLE IF NOT EXISTS {{findings_storage}} {{on_cluster}}
(
    survey_id UUID,
    edition UUID,
    value String,
    question_id UUID,
    response_id UUID,
    written_at DateTime('UTC') DEFAULT now('UTC')
)
ENGINE = {{findings_engine}}
ORDER BY (survey_id, edition, value, question_id, response_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
