-- Amounts are base units of the token, from 0 to 2^96-1. Ids are UUIDs of version 7: their
-- order is that of their time.

CREATE TABLE leases (
	name       TEXT PRIMARY KEY,
	owner      TEXT NOT NULL,
	epoch      INT8 NOT NULL CHECK (epoch > 0),
	expires_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE secrets (
	name  TEXT PRIMARY KEY,
	value BYTEA NOT NULL
);

CREATE TABLE jobs (
	id            UUID PRIMARY KEY,
	status        TEXT NOT NULL CHECK (status IN ('pending', 'running', 'complete', 'error')),
	attempts      INT8 NOT NULL,
	request       BYTEA NOT NULL,
	error         BYTEA NOT NULL,
	error_code    TEXT NOT NULL,
	result_length INT8 NOT NULL CHECK (result_length >= 0),
	html_length   INT8 NOT NULL CHECK (html_length >= 0),
	body          BYTEA NOT NULL
);
CREATE INDEX jobs_unfinished ON jobs (id) WHERE status IN ('pending', 'running');

CREATE TABLE runs (
	id          UUID PRIMARY KEY,
	class       INT8 NOT NULL CHECK (class BETWEEN 0 AND 2),
	state       TEXT NOT NULL CHECK (state IN ('replayable', 'errored', 'too_large')),
	finished_at INT8 NOT NULL,
	length      INT8 NOT NULL CHECK (length >= 0),
	body        BYTEA NOT NULL
);

CREATE TABLE channels (
	id                    BYTEA PRIMARY KEY CHECK (octet_length(id) = 32),
	status                INT8 NOT NULL CHECK (status BETWEEN 1 AND 4),
	chain_id              NUMERIC(20, 0) NOT NULL,
	escrow                BYTEA NOT NULL CHECK (octet_length(escrow) = 20),
	payer                 BYTEA NOT NULL CHECK (octet_length(payer) = 20),
	payee                 BYTEA NOT NULL CHECK (octet_length(payee) = 20),
	operator              BYTEA NOT NULL CHECK (octet_length(operator) = 20),
	token                 BYTEA NOT NULL CHECK (octet_length(token) = 20),
	authorized_signer     BYTEA NOT NULL CHECK (octet_length(authorized_signer) = 20),
	salt                  BYTEA NOT NULL CHECK (octet_length(salt) = 32),
	expiring_nonce_hash   BYTEA NOT NULL CHECK (octet_length(expiring_nonce_hash) = 32),
	open_tx               BYTEA NOT NULL CHECK (octet_length(open_tx) = 32),
	close_tx              BYTEA NOT NULL CHECK (octet_length(close_tx) = 32),
	close_requested_at    INT8 NOT NULL,
	seen_at               INT8 NOT NULL,
	created_at            INT8 NOT NULL,
	active_at             INT8 NOT NULL,
	owed_since            INT8 NOT NULL,
	units                 NUMERIC(20, 0) NOT NULL,
	deposit               NUMERIC(29, 0) NOT NULL CHECK (deposit BETWEEN 0 AND 79228162514264337593543950335),
	settled               NUMERIC(29, 0) NOT NULL CHECK (settled BETWEEN 0 AND 79228162514264337593543950335),
	settling              NUMERIC(29, 0) NOT NULL CHECK (settling BETWEEN 0 AND 79228162514264337593543950335),
	authorised            NUMERIC(29, 0) NOT NULL CHECK (authorised BETWEEN 0 AND 79228162514264337593543950335),
	spent                 NUMERIC(29, 0) NOT NULL CHECK (spent BETWEEN 0 AND 79228162514264337593543950335),
	credit                NUMERIC(29, 0) NOT NULL CHECK (credit BETWEEN 0 AND 79228162514264337593543950335),
	capture               NUMERIC(29, 0) NOT NULL CHECK (capture BETWEEN 0 AND 79228162514264337593543950335),
	lost                  NUMERIC(29, 0) NOT NULL CHECK (lost BETWEEN 0 AND 79228162514264337593543950335),
	highest               NUMERIC(29, 0) NOT NULL CHECK (highest BETWEEN 0 AND 79228162514264337593543950335),
	highest_signature     BYTEA NOT NULL,
	settleable            NUMERIC(29, 0) NOT NULL CHECK (settleable BETWEEN 0 AND 79228162514264337593543950335),
	settleable_signature  BYTEA NOT NULL,
	close_sum             NUMERIC(29, 0) NOT NULL CHECK (close_sum BETWEEN 0 AND 79228162514264337593543950335),
	close_signature       BYTEA NOT NULL,
	CONSTRAINT credit_is_part_of_spent CHECK (credit <= spent),
	CONSTRAINT settleable_is_accepted CHECK (settleable <= highest)
);
CREATE INDEX channels_open ON channels (id) WHERE status < 4;
CREATE INDEX channels_closed ON channels (id) WHERE status = 4;
CREATE INDEX channels_payer ON channels (payer, id) WHERE status < 4;

CREATE TABLE bills (
	id        UUID PRIMARY KEY,
	payer     BYTEA NOT NULL CHECK (octet_length(payer) = 20),
	channel   BYTEA NOT NULL CHECK (octet_length(channel) = 32),
	collected NUMERIC(29, 0) NOT NULL CHECK (collected BETWEEN 0 AND 79228162514264337593543950335),
	price     NUMERIC(29, 0) NOT NULL CHECK (price BETWEEN 0 AND 79228162514264337593543950335),
	final     BOOL NOT NULL,
	delivered BOOL NOT NULL
);
CREATE INDEX bills_debts ON bills (payer, id) WHERE final AND collected < price;

CREATE TABLE tickets (
	key     BYTEA PRIMARY KEY CHECK (octet_length(key) = 32),
	bill    UUID NOT NULL,
	charged NUMERIC(29, 0) NOT NULL CHECK (charged BETWEEN 0 AND 79228162514264337593543950335)
);
CREATE INDEX tickets_bill ON tickets (bill);

CREATE TABLE intents (
	id       UUID PRIMARY KEY,
	document BYTEA NOT NULL
);
