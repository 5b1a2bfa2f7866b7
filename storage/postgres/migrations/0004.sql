-- Which run has the answer to a request. An entry ends with its run.
CREATE TABLE kept (
	key BYTEA PRIMARY KEY CHECK (length(key) = 32),
	run UUID NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	chain BIGINT NOT NULL,
	block BYTEA NOT NULL CHECK (length(block) = 32),
	block_time BIGINT NOT NULL,
	checked_at BIGINT NOT NULL,
	made_at BIGINT NOT NULL
);
CREATE INDEX kept_run ON kept (run);
