CREATE TABLE IF NOT EXISTS {{records}} {{on_cluster}} AS {{records_storage}}
ENGINE = Distributed({{cluster}}, {{database}}, 'idempotency_records_local', cityHash64(hash))
