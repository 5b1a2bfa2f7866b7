-- Who wrote a row last: the epoch of its lease, and its name. Earlier programs leave both alone.
ALTER TABLE channels ADD COLUMN epoch INT8 NOT NULL DEFAULT 0, ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE bills ADD COLUMN epoch INT8 NOT NULL DEFAULT 0, ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN epoch INT8 NOT NULL DEFAULT 0, ADD COLUMN writer TEXT NOT NULL DEFAULT '';
INSERT INTO notes (name, value) VALUES ('oldest program', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- Rows that no event leads to are refused, as a guard beside the rules of the program. A
-- reorganisation may make a deposit smaller than what was accepted before, and a ledger that was
-- restored may know less than the chain: so an update is refused if it is the one that makes a sum
-- too large. A copy may write rows as they are.
CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'a row of % breaks the rule %', TG_TABLE_NAME, TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
END $$;

CREATE TRIGGER new_spent_is_accepted AFTER INSERT ON channels FOR EACH ROW
	WHEN (NEW.spent > GREATEST(NEW.highest, NEW.settled) AND current_setting('txlens.copying', true) IS DISTINCT FROM 'on')
	EXECUTE FUNCTION refuse_row();
CREATE TRIGGER spent_is_accepted AFTER UPDATE ON channels FOR EACH ROW
	WHEN (NEW.spent > GREATEST(NEW.highest, NEW.settled) AND NEW.spent > OLD.spent)
	EXECUTE FUNCTION refuse_row();
CREATE TRIGGER new_highest_is_deposited AFTER INSERT ON channels FOR EACH ROW
	WHEN (NEW.highest > NEW.deposit AND current_setting('txlens.copying', true) IS DISTINCT FROM 'on')
	EXECUTE FUNCTION refuse_row();
CREATE TRIGGER highest_is_deposited AFTER UPDATE ON channels FOR EACH ROW
	WHEN (NEW.highest > NEW.deposit AND NEW.highest > OLD.highest)
	EXECUTE FUNCTION refuse_row();
CREATE TRIGGER new_settled_is_deposited AFTER INSERT ON channels FOR EACH ROW
	WHEN (NEW.settled > NEW.deposit AND current_setting('txlens.copying', true) IS DISTINCT FROM 'on')
	EXECUTE FUNCTION refuse_row();
CREATE TRIGGER settled_is_deposited AFTER UPDATE ON channels FOR EACH ROW
	WHEN (NEW.settled > NEW.deposit AND NEW.settled > OLD.settled)
	EXECUTE FUNCTION refuse_row();
CREATE TRIGGER new_collected_is_priced AFTER INSERT ON bills FOR EACH ROW
	WHEN (NEW.final AND NEW.collected > NEW.price AND current_setting('txlens.copying', true) IS DISTINCT FROM 'on')
	EXECUTE FUNCTION refuse_row();
CREATE TRIGGER collected_is_priced AFTER UPDATE ON bills FOR EACH ROW
	WHEN (NEW.final AND NEW.collected > NEW.price AND NEW.collected > OLD.collected)
	EXECUTE FUNCTION refuse_row();

-- Bills of earlier versions name no channel.
CREATE FUNCTION refuse_bill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM channels WHERE id = NEW.channel) THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'a row of % breaks the rule %', TG_TABLE_NAME, TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
END $$;
CREATE CONSTRAINT TRIGGER bill_has_channel AFTER INSERT ON bills DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
	WHEN (NEW.channel <> decode(repeat('00', 32), 'hex')) EXECUTE FUNCTION refuse_bill();
