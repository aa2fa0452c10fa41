-- What analyses found in open answers, one row a value. An edition holds what one analysis found: it is written once, read when it is
-- whole, and goes when newer ones have taken its place. Whether a response still counts is for `responses` to say.
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
