-- Who wrote a row last: the epoch of its lease, and its name. Earlier programs leave both alone.
ALTER TABLE channels ADD COLUMN epoch INT8 NOT NULL DEFAULT 0, ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE bills ADD COLUMN epoch INT8 NOT NULL DEFAULT 0, ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN epoch INT8 NOT NULL DEFAULT 0, ADD COLUMN writer TEXT NOT NULL DEFAULT '';
INSERT INTO notes (name, value) VALUES ('oldest program', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;
