-- Repeated inserts are no longer dropped. The deduplication log is written before the part is renamed; after a failure between the two, the repeat
-- would be dropped although nothing was stored. Merging replaces equal versions of a response anyway.
ALTER TABLE {{storage_table}} {{on_cluster}} MODIFY SETTING {{deduplication_window}} = 0
