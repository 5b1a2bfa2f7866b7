package claim

import (
	"txlens/engine/api"
	"txlens/engine/verdict"
)

// Answer is the parsed final answer of the model. Nothing in it is verified yet.
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

// TextRefs is a text with references to further places that it describes: see exists.
type TextRefs struct {
	Text string   `json:"text"`
	Refs []string `json:"refs"`
}

// Risk is a risk flag with the model's explanation.
type Risk struct {
	Flag Flag     `json:"flag"`
	Text string   `json:"text"`
	Refs []string `json:"refs"`
}

// Figure is a number computed from values of the evidence: Kind is the operation, Of are
// the values, written as references are after "amount:".
type Figure struct {
	Kind FigureKind `json:"kind"`
	Of   []string   `json:"of"`
}

// FigureKind is the operation of a figure.
type FigureKind string

// The kinds of figures.
const (
	Sum           FigureKind = "sum"            // of all
	Difference    FigureKind = "difference"     // the first minus the others
	PercentOf     FigureKind = "percent_of"     // the first as a percentage of the second
	PercentChange FigureKind = "percent_change" // from the first to the second
	Ratio         FigureKind = "ratio"          // the first divided by the second
)

// Enum lists the kinds of figures.
func (FigureKind) Enum() []any { return []any{Sum, Difference, PercentOf, PercentChange, Ratio} }

// relates reports whether a figure compares two values.
func (k FigureKind) relates() bool { return k != Sum && k != Difference }

// Flag is the name of a risk flag.
type Flag string

// Enum lists the flags that the model may raise. Flags of findings are raised by findings.
func (Flag) Enum() (out []any) {
	for _, f := range verdict.Flags() {
		out = append(out, Flag(f.String()))
	}
	return out
}

// Description describes a contract.
type Description struct {
	Address     api.Addr `json:"address"`
	Description string   `json:"description"`
}

// Annotation is a comment on one node of the trace.
type Annotation struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
}

// Finding is a weakness that the model claims.
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

// NonFinding is the model's claim about one check.
type NonFinding struct {
	Check  NonCheck `json:"check"`
	Result Ruled    `json:"result"`
	Why    string   `json:"why"`
	Refs   []string `json:"refs"`
}

// Ruled is the claimed result of a check.
type Ruled string

// The outcomes, by the names of the interface.
var (
	Clean         = Ruled(verdict.Clean.String())
	NotApplicable = Ruled(verdict.NotApplicable.String())
	NotChecked    = Ruled(verdict.NotChecked.String())
)

// Dropped counts the parts of an answer that were not accepted.
type Dropped = api.Dropped

// Bounds of an Answer: lists in items, texts in characters after rendering. With
// references, a text may be longer: see written.
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
