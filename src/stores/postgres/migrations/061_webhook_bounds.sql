-- Maximum waiting deliveries of an endpoint; further ones are noted as not sent.
ALTER TABLE webhooks ADD COLUMN max_waiting integer NOT NULL DEFAULT 100000;
