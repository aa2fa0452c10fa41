-- Whether the invitations of a deleted collector identify nobody any more, unless they name a response.
ALTER TABLE collectors ADD COLUMN are_invitations_erased boolean NOT NULL DEFAULT false;
