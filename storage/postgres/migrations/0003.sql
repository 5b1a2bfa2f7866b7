-- An equal request joins its run whether or not the result was sent, so this is no longer recorded.

ALTER TABLE bills DROP COLUMN delivered;

-- Why a run ended in an error; empty where it is not known.
ALTER TABLE runs ADD COLUMN error TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
