package api

// Finding is one weakness that the transaction used: what must hold and did not.
// Its first eight members are always present; nil lists marshal as [].
type Finding struct {
	BrokenInvariant      string     `json:"broken_invariant"` // one sentence: subject, rule, observed break, place
	Category             Category   `json:"category"`
	Severity             Severity   `json:"severity"`
	Confidence           Confidence `json:"confidence"` // that the invariant broke, and for this cause
	Victim               []Addr     `json:"victim"`
	Attacker             []Addr     `json:"attacker"`
	Evidence             []Evidence `json:"evidence"`
	MissingDataToConfirm []string   `json:"missing_data_to_confirm"` // never empty beside a low confidence

	// Members beyond the interface's table.
	ID         string        `json:"id,omitempty"` // F1, F2 ... in the order of the calls
	Status     FindingStatus `json:"status,omitempty"`
	Check      string        `json:"check,omitempty"`      // over the evidence; it was recomputed and holds
	Amplifiers []Amplifier   `json:"amplifiers,omitempty"` // what made it worse and is no cause
	CausedBy   string        `json:"causedBy,omitempty"`   // ID of the finding without which this one could not be
	Primary    bool          `json:"primary,omitzero"`     // the first rule that broke

	// FaultyContract is the one whose rule broke, often but not always a victim.
	FaultyContract *Addr `json:"faultyContract,omitempty"`
	// EntryPoint is the contract that the attacker called where it was decided.
	EntryPoint *Addr `json:"entryPoint,omitempty"`
	// Code lists the implementations that ran on behalf of the victim, the faulty contract or
	// the entry point.
	Code []Addr `json:"code,omitempty"`
	// Gain is what the attackers have more of, Loss what the victims have less of. They need
	// not be equal: fees and trades lie between them.
	Gain []AssetAmount `json:"gain,omitempty"`
	Loss []AssetAmount `json:"loss,omitempty"`
	// Revoke lists the approvals of the victims that were used, or that they signed; while
	// they stand, more can be taken.
	Revoke []Approval `json:"revoke,omitempty"`
}

// Approval is the right of a spender over a token of an owner.
type Approval struct {
	Owner   Addr `json:"owner"`
	Token   Addr `json:"token"`
	Spender Addr `json:"spender"`
}

// AssetAmount is so much of one asset.
type AssetAmount struct {
	Token  *Addr  `json:"token"`  // null for the native coin, with which its wrapped token is counted
	Amount string `json:"amount"` // base units, decimal
	Text   string `json:"text"`   // in whole units with the symbol
}

// Category is the cause of a loss, never the tool that was used.
type Category string

// The closed list of causes.
const (
	PriceManipulation      Category = "price_manipulation"      // the victim read a price that was moved in the same transaction or block
	Reentrancy             Category = "reentrancy"              // entered again before its effects were done
	AccessControl          Category = "access_control"          // a call that should be limited was open
	InsufficientValidation Category = "insufficient_validation" // a wrong argument was accepted
	ArbitraryCall          Category = "arbitrary_call"          // target and calldata of a call were free to choose
	AccountingError        Category = "accounting_error"        // debts, shares or rewards kept wrongly
	BusinessLogic          Category = "business_logic"          // a wrong rule and none of the others
	PrecisionLoss          Category = "precision_loss"          // rounding, overflow, truncation
	ShareInflation         Category = "share_inflation"         // the rate of an almost empty vault was moved by a gift
	TokenIncompatibility   Category = "token_incompatibility"   // a token that takes a fee, rebases or calls back
	SignatureVerification  Category = "signature_verification"  // a bad or replayed signature or proof
	BridgeMessageForgery   Category = "bridge_message_forgery"  // a message without its cause on the other chain
	GovernanceAttack       Category = "governance_attack"
	AccountAbstraction     Category = "account_abstraction" // validation, paymaster, module or delegate at fault
	StorageCollision       Category = "storage_collision"
	WeakRandomness         Category = "weak_randomness"
	SlippageExposure       Category = "slippage_exposure" // traded without a minimum
	PhishingApproval       Category = "phishing_approval" // a right that a user gave was used against the user
	PrivilegedAbuse        Category = "privileged_abuse"  // the holder of a key, or who stole it
	DenialOfService        Category = "denial_of_service" // made unusable, without a gain
	UnknownCause           Category = "unknown"           // the loss is shown, its cause is not
)

// Severity is what was done to the victim in this transaction.
type Severity string

const (
	SeverityCritical Severity = "critical" // principal stolen, insolvency, control taken; or a loss from 1,000,000 USD on
	SeverityHigh     Severity = "high"     // yield or one user's whole balance, bad debt; or from 50,000 USD on
	SeverityMedium   Severity = "medium"   // limited loss; or from 1,000 USD on
	SeverityLow      Severity = "low"      // a promise broken, dust lost
	SeverityInfo     Severity = "info"     // nothing lost, worth knowing
)

// Rank orders severities: the greater, the worse.
func (s Severity) Rank() int { return rank(s.Enum(), s) }

// FindingStatus is how well a finding is shown.
type FindingStatus string

const (
	Confirmed            FindingStatus = "confirmed" // its check was recomputed and holds, all its evidence is observed
	Probable             FindingStatus = "probable"  // its check holds
	Possible             FindingStatus = "possible"
	InsufficientEvidence FindingStatus = "insufficient_evidence"
)

// Rank orders statuses: the greater, the better shown.
func (s FindingStatus) Rank() int { return rank(s.Enum(), s) }

// rank counts from the end of a list of values; 0 for what is not in it.
func rank(list []any, v any) int {
	for i := range list {
		if list[i] == v {
			return len(list) - i
		}
	}
	return 0
}

// Amplifier made a loss larger or easier and is never its cause.
type Amplifier string

// FlashLoan is the amplifier that is taken for a cause most often.
const FlashLoan Amplifier = "flash_loan"

// Evidence is one fact that a finding rests on, with the place in the trace, the
// receipt or the state where it can be looked up.
type Evidence struct {
	Claim    string       `json:"claim"`
	Kind     EvidenceKind `json:"kind"`
	Frame    string       `json:"frame,omitempty"`    // Node.Path
	LogIndex *uint64      `json:"logIndex,omitempty"` // as the receipt gives it
	Address  *Addr        `json:"address,omitempty"`
	Slot     string       `json:"slot,omitempty"` // 0x hex, of Address
	Before   string       `json:"before,omitempty"`
	After    string       `json:"after,omitempty"`
	Selector string       `json:"selector,omitempty"`
	Source   string       `json:"source"` // trace, receipt, state, code, agent ...
}

// EvidenceKind is how near a fact is to the data.
type EvidenceKind string

const (
	Observed EvidenceKind = "observed"
	Derived  EvidenceKind = "derived"
	Inferred EvidenceKind = "inferred"
)

// Dropped counts what a model said and the evidence does not support, by kind.
type Dropped struct {
	Sentences    int `json:"sentences,omitzero"`    // of the summary, the steps, the risks and the other texts
	Steps        int `json:"steps,omitzero"`        // without a sentence or a reference left
	Risks        int `json:"risks,omitzero"`        // likewise
	Annotations  int `json:"annotations,omitzero"`  // of the trace
	Descriptions int `json:"descriptions,omitzero"` // of contracts
	Figures      int `json:"figures,omitzero"`      // calculations that do not come out
	Evidence     int `json:"evidence,omitzero"`     // items of findings that point to nothing
	Findings     int `json:"findings,omitzero"`     // whole findings
	Demoted      int `json:"demoted,omitzero"`      // findings whose status, confidence or severity fell
	NonFindings  int `json:"nonFindings,omitzero"`
	Verdicts     int `json:"verdicts,omitzero"` // type, protocol, confidence: the rules' own was kept
}

// Total is the number of all that was dropped or lowered.
func (d Dropped) Total() (n int) {
	d.Each(func(_ string, k int) { n += k })
	return n
}

// Each gives the counts by kind, as their members are named, also those that are 0.
func (d Dropped) Each(count func(kind string, n int)) {
	count("sentences", d.Sentences)
	count("steps", d.Steps)
	count("risks", d.Risks)
	count("annotations", d.Annotations)
	count("descriptions", d.Descriptions)
	count("figures", d.Figures)
	count("evidence", d.Evidence)
	count("findings", d.Findings)
	count("demoted", d.Demoted)
	count("nonFindings", d.NonFindings)
	count("verdicts", d.Verdicts)
}
