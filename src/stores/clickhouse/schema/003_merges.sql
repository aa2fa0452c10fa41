-- Small parts are merged many at a time. By default seven new ones are enough to write a part of some megabytes anew: under steady load, with an
-- insert every half second, each row was written eleven times within forty seconds, and merges took a third of all processor time.
ALTER TABLE {{storage_table}} {{on_cluster}} MODIFY SETTING merge_selector_base = 15
