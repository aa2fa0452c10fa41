-- Whether somebody else chose the password that the user signs in with.
ALTER TABLE users ADD COLUMN must_change_password boolean NOT NULL DEFAULT false;
