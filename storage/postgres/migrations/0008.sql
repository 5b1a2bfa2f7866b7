-- The servers that share the lease, because none of them sells.
CREATE TABLE members (
	name      TEXT PRIMARY KEY, -- as it stands in the rows that it writes
	address   TEXT NOT NULL,    -- under which other servers reach it; empty: they do not
	version   TEXT NOT NULL,    -- of the program
	joined_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
	seen_at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
	leaving   BOOL NOT NULL DEFAULT false -- it ends its runs, and has no jobs any more
);
-- The jobs that a member took last, so that a look whose outcome is not known can be repeated.
CREATE TABLE jobs_taken (
	member TEXT PRIMARY KEY,
	look   INT8 NOT NULL,
	jobs   UUID[] NOT NULL
);
-- The runs that a member works on, so that every member can tell a run at work from one that is not known.
CREATE TABLE runs_at_work (
	id     UUID PRIMARY KEY,
	member TEXT NOT NULL,
	since  TIMESTAMPTZ NOT NULL DEFAULT now()
);
-- Programs of version 5 do not know the tables and need not.
INSERT INTO notes (name, value) VALUES ('oldest program', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;
