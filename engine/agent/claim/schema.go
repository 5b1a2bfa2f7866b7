package claim

import (
	_ "embed"
	"fmt"
	"strings"

	"txlens/engine/agent/llm"
	"txlens/engine/api"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ToolName is the name of the final call.
const ToolName = "submit_explanation"

//go:embed schema.json
var schemaText string

// required are the members that an answer must have.
var required = []string{
	"findings",
	"nonFindings",
	"txType",
	"protocol",
	"confidence",
	"figures",
	"steps",
	"summary",
	"risks",
	"contracts",
	"traceAnnotations",
}

// memberNames are those of the schema, for messages.
var memberNames = append(
	[]string{"txTypeReason", "text", "refs", "flag", "kind", "of", "address", "description", "index", "id", "broken_invariant", "category",
		"severity", "status", "victim", "attacker", "faultyContract", "evidence", "claim", "frame", "logIndex", "slot", "before", "after", "selector", "source", "check",
		"amplifiers", "causedBy", "primary", "missing_data_to_confirm", "result", "why"},
	required...)

// Tool returns the definition of the final call. The bytes are always the same.
func Tool() llm.Tool {
	return llm.Tool{
		Name: ToolName,
		Description: "Submit the explanation of the transaction, last. Texts hold references in place of numbers, addresses and names, as the instructions say: " +
			"{amount:log:61}, {address:0x…}, {figure:1.percent}. A sentence with a reference that does not resolve is dropped.",
		Schema: schema,
	}
}

// schema is schemaText with the enumerations and bounds filled in.
var schema = func() jsontext.Value {
	var pairs []string
	for name, e := range map[string]interface{ Enum() []any }{
		"txType": api.TxType(""), "confidence": api.Confidence(""), "category": api.Category(""), "severity": api.Severity(""),
		"status": api.FindingStatus(""), "amplifier": api.Amplifier(""), "kind": api.EvidenceKind(""), "check": NonCheck(""), "result": Ruled(""),
		"figure": FigureKind(""), "flag": Flag(""),
	} {
		pairs = append(pairs, `"{`+name+`}"`, listed(e.Enum()))
	}
	for name, n := range map[string]int{
		"maxSummary": written(maxSummary), "maxText": written(maxText), "maxShort": written(maxShort), "maxPlace": maxShort,
		"maxSteps": maxSteps, "maxRisks": maxRisks, "maxContracts": maxContracts, "maxAnnotations": maxAnnotations,
		"maxFindings": maxFindings, "maxEvidence": maxEvidence, "maxParties": maxParties,
		"maxRefs": maxRefs, "maxFigures": maxFigures, "maxMissing": maxMissing, "maxCheck": maxCheck,
	} {
		pairs = append(pairs, `"{`+name+`}"`, fmt.Sprint(n))
	}
	v := jsontext.Value(strings.NewReplacer(pairs...).Replace(schemaText))
	if err := v.Compact(); err != nil {
		panic("the schema of the answer: " + err.Error())
	}
	return v
}()

func listed(values any) string {
	b, err := json.Marshal(values)
	if err != nil {
		panic("the schema of the answer: " + err.Error())
	}
	return string(b)
}
