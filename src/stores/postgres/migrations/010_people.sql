-- Actions through an API key belong to its user; the key is noted separately.
ALTER TABLE audit ADD COLUMN key_id uuid;
CREATE INDEX audit_actor ON audit (actor_id, id);
CREATE INDEX audit_action ON audit (action, id);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit is only ever added to';
END $$;
CREATE TRIGGER audit_only_grows BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();

CREATE INDEX users_created ON users (created_at DESC, id DESC);
CREATE INDEX api_keys_user ON api_keys (user_id, created_at DESC);
