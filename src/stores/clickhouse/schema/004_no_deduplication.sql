-- Repeated inserts are not dropped any more: the log by which they would be is written before the part takes its name, and after a failure between the
-- two the repeat would be dropped although nothing was stored. Equal versions of a response are replaced anyway.
ALTER TABLE {{storage_table}} {{on_cluster}} MODIFY SETTING {{deduplication_window}} = 0
