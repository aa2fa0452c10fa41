CREATE TABLE IF NOT EXISTS {{table}} {{on_cluster}} AS {{storage_table}}
ENGINE = Distributed({{cluster}}, {{database}}, 'responses_local', cityHash64(response_id))
