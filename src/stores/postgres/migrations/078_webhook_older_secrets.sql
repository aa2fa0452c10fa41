-- Former secrets before the last one that still sign: a list of {sealed (base64), until}.
ALTER TABLE webhooks ADD COLUMN older_secrets jsonb NOT NULL DEFAULT '[]';
