-- Small parts are merged many at a time. By default few new ones are enough to write a part of some megabytes anew: under steady load, with an insert
-- every half second, rows had been through eight to eleven merges after forty seconds, which took more than a third of ClickHouse's processor time.
ALTER TABLE {{storage_table}} {{on_cluster}} MODIFY SETTING merge_selector_base = 15
