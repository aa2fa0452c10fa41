-- A key may end by itself. The ceiling of all keys of a user together; null: that of the settings.
ALTER TABLE api_keys ADD COLUMN expires_at timestamptz;
ALTER TABLE users ADD COLUMN api_key_requests_per_minute integer;
