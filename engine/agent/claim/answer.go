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
	Steps       []TextRefs     `json:"steps"`
	Summary     string         `json:"summary"`
	Risks       []Risk         `json:"risks"`
	Contracts   []Description  `json:"contracts"`
	Annotations []Annotation   `json:"traceAnnotations"`
}

// TextRefs is a text with more places that it tells of: see exists.
type TextRefs struct {
	Text string   `json:"text"`
	Refs []string `json:"refs"`
}

// Risk is a flag of the registry with the model's explanation.
type Risk struct {
	Flag Flag     `json:"flag"`
	Text string   `json:"text"`
	Refs []string `json:"refs"`
}

// Figure is a number that follows from the evidence: Kind says how, from the values that
// Of names as references do behind "amount:".
type Figure struct {
	Kind FigureKind `json:"kind"`
	Of   []string   `json:"of"`
}

// FigureKind is the way in which a figure follows from its values.
type FigureKind string

// The kinds of figures.
const (
	Sum           FigureKind = "sum"            // of all
	Difference    FigureKind = "difference"     // of the first and the others
	PercentOf     FigureKind = "percent_of"     // the first in percent of the second
	PercentChange FigureKind = "percent_change" // from the first to the second
	Ratio         FigureKind = "ratio"          // how many times the second is in the first
)

// Enum lists the kinds.
func (FigureKind) Enum() []any { return []any{Sum, Difference, PercentOf, PercentChange, Ratio} }

// relates reports whether a figure sets two values in relation.
func (k FigureKind) relates() bool { return k != Sum && k != Difference }

// Flag is the name of a risk flag.
type Flag string

// Enum lists the flags that are not the cause of a finding: those are raised by findings.
func (Flag) Enum() (out []any) {
	for _, f := range verdict.Flags() {
		out = append(out, Flag(f.String()))
	}
	return out
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

// Bounds of an Answer: lists in items, texts in characters as they are rendered. As a
// model writes them, with references, they may be longer: see written.
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
