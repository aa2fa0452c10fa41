CREATE TABLE IF NOT EXISTS {{findings}} {{on_cluster}} AS {{findings_storage}}
ENGINE = Distributed({{cluster}}, {{database}}, 'findings_local', cityHash64(response_id))
