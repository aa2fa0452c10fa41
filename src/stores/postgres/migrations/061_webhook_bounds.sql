-- More deliveries than these do not wait for an endpoint: what comes on top is noted as not sent.
ALTER TABLE webhooks ADD COLUMN max_waiting integer NOT NULL DEFAULT 100000;
