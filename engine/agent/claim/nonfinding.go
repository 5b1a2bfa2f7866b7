package claim

// NonCheck is one of the checks that a triage goes through.
type NonCheck string

// nonChecks are all of them, with what a reader is told each is.
var nonChecks = []struct {
	check NonCheck
	words string
}{
	{"reentrancy", "reentrancy into a contract that later writes"},
	{"flash_loan", "flash loan, borrowed and repaid"},
	{"price_moved", "price moved by more than 5 % and read in the same transaction"},
	{"share_price_fell", "share price fell"},
	{"caller_controlled_target", "target and calldata of a call taken from the caller"},
	{"control_changed", "owner, role, implementation, threshold or module changed"},
	{"unlimited_approval", "unlimited approval to an unlabelled spender"},
	{"unverified_delegatecall", "delegatecall to unverified or fresh code"},
	{"self_destruct", "self-destruct, or a caller that is a constructor"},
	{"token_behaviour", "token with a fee or that rebases"},
	{"sandwich", "sandwich around the transaction"},
	{"lookalike_address", "poisoned look-alike address"},
	{"bad_debt", "bad debt"},
	{"caught_inner_failure", "caught inner failure"},
	{"drained", "contract drained by 99 % or more"},
	{"mixer_funded", "sender funded by a mixer"},
}

// Enum lists the checks.
func (NonCheck) Enum() []any {
	out := make([]any, len(nonChecks))
	for i, c := range nonChecks {
		out[i] = c.check
	}
	return out
}

// Enum lists the outcomes.
func (Ruled) Enum() []any { return []any{Clean, NotApplicable, NotChecked} }
