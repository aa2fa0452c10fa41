-- Digests of used values of ADMIN_RESET, so that one left in the environment does not reset at every start.
CREATE TABLE admin_resets (
  digest text PRIMARY KEY,
  used_at timestamptz NOT NULL DEFAULT now()
);
