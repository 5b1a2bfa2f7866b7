-- An equal request joins its run whether or not the result was sent, so this is no longer recorded.

ALTER TABLE bills DROP COLUMN delivered;
