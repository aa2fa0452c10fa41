-- The words of ADMIN_RESET that were used, as digests: one that is left in an environment must not reset again at every start.
CREATE TABLE admin_resets (
  digest text PRIMARY KEY,
  used_at timestamptz NOT NULL DEFAULT now()
);
