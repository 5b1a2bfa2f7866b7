-- Notes of the store about itself, such as how far a copy into it has come.

CREATE TABLE notes (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
);
