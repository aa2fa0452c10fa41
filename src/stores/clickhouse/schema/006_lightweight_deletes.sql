-- Rows of a deleted survey are hidden by a mask beside the parts that hold them, whose projection is made anew. Removing them at once would rewrite
-- all columns of every part that holds any of them.
ALTER TABLE {{storage_table}} {{on_cluster}} MODIFY SETTING lightweight_mutation_projection_mode = 'rebuild'
