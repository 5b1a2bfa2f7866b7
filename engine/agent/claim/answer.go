package claim

import (
	"txlens/engine/api"
	"txlens/engine/verdict"
)

// Answer is what the model says in its last call, read but not believed.
type Answer struct {
	Findings    []Finding      `json:"findings"`
	NonFindings []NonFinding   `json:"nonFindings"`
	TxType      api.TxType     `json:"txType"`
	TypeReason  string         `json:"txTypeReason"` // why the type is not that of the rules
	Protocol    *string        `json:"protocol"`     // snake case
	Confidence  api.Confidence `json:"confidence"`
	Figures     []Figure       `json:"figures"`
	Steps       []Said         `json:"steps"`
	Summary     string         `json:"summary"`
	Risks       []Said         `json:"risks"`
	Contracts   []Description  `json:"contracts"`
	Annotations []Annotation   `json:"traceAnnotations"`
}

// Said is a text with the places it rests on: see reference.
type Said struct {
	Text string   `json:"text"`
	Refs []string `json:"refs"`
}

// Figure is a number of the texts that stands nowhere in the evidence and follows
// from it: Kind says how, from references of the check language.
type Figure struct {
	Shown string   `json:"shown"` // as it stands in the texts
	Kind  string   `json:"kind"`  // sum, difference, percent_of, percent_change, ratio
	Of    []string `json:"of"`
}

// Description says what a contract is.
type Description struct {
	Address     api.Addr `json:"address"`
	Description string   `json:"description"`
}

// Annotation is a comment on one node of the trace.
type Annotation struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
}

// Finding is a weakness as the model sees it.
type Finding struct {
	ID              string            `json:"id"` // for CausedBy
	BrokenInvariant string            `json:"broken_invariant"`
	Category        api.Category      `json:"category"`
	Severity        api.Severity      `json:"severity"`
	Status          api.FindingStatus `json:"status"`
	Confidence      api.Confidence    `json:"confidence"`
	Victim          []api.Addr        `json:"victim"`
	Attacker        []api.Addr        `json:"attacker"`
	FaultyContract  *api.Addr         `json:"faultyContract"` // absent: the first victim with code
	Evidence        []api.Evidence    `json:"evidence"`
	Check           string            `json:"check"`
	Amplifiers      []api.Amplifier   `json:"amplifiers"`
	CausedBy        string            `json:"causedBy"`
	Primary         bool              `json:"primary"`
	Missing         []string          `json:"missing_data_to_confirm"`
}

// NonFinding is one check of the fixed list.
type NonFinding struct {
	Check  NonCheck `json:"check"`
	Result Ruled    `json:"result"`
	Why    string   `json:"why"`
	Refs   []string `json:"refs"`
}

// Ruled is the outcome of such a check.
type Ruled string

// The outcomes, by the names of the interface.
var (
	Clean         = Ruled(verdict.Clean.String())
	NotApplicable = Ruled(verdict.NotApplicable.String())
	NotChecked    = Ruled(verdict.NotChecked.String())
)

// Dropped counts what did not stand.
type Dropped = api.Dropped

// Bounds of an Answer: lists in items, texts in characters.
const (
	maxSummary     = 500
	maxText        = 400
	maxShort       = 200
	maxSteps       = 30
	maxRisks       = 12
	maxContracts   = 60
	maxAnnotations = 120
	maxFindings    = 8
	maxEvidence    = 24
	maxParties     = 12
	maxRefs        = 16
	maxFigures     = 40
	maxMissing     = 8
	maxCheck       = 1000
)
