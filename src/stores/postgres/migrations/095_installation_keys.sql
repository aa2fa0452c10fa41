-- Fingerprints of the keys that processes of this installation have used, so that a process with other keys is noticed.
CREATE TABLE installation_keys (
  purpose text NOT NULL,
  fingerprint text NOT NULL,
  first_used_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (purpose, fingerprint)
);
