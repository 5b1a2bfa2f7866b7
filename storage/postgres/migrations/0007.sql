-- Which runs are deleted first in a database with a bound: evidence, then blocking runs, then streams, the oldest first.
-- It takes as long as the runs are many.
SET LOCAL statement_timeout = 0;
CREATE INDEX runs_evictable ON runs (class DESC, id) WHERE class > 0;
-- Programs of version 5 do not know the index and need not.
INSERT INTO notes (name, value) VALUES ('oldest program', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;
