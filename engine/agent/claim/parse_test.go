package claim

import (
	"errors"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/api"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// plainInput is an answer with nothing in it but what must be.
const plainInput = `{"findings":[],"nonFindings":[],"txType":"swap","protocol":null,"confidence":"high","figures":[],"steps":[],"summary":"Swapped.","risks":[],"contracts":[],"traceAnnotations":[]}`

func TestParse(t *testing.T) {
	f := func(input, want string) {
		t.Helper()
		a, err := Parse(jsontext.Value(input))
		var invalid *InvalidError
		switch {
		case want == "" && err != nil:
			t.Errorf("%v", err)
		case want != "" && (!errors.As(err, &invalid) || a != nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		case err != nil && strings.Contains(err.Error(), "SECRET"):
			t.Errorf("the error repeats the model's words: %v", err)
		}
	}
	with := func(member, value string) string {
		i := strings.Index(plainInput, `"`+member+`":`) + len(member) + 3
		j := i + strings.IndexAny(plainInput[i:], ",}")
		return plainInput[:i] + value + plainInput[j:]
	}
	f(plainInput, "")
	f(with("protocol", `"uniswap_v3"`), "")
	f(with("steps", `[{"text":"a","refs":["tx"]}]`), "")
	f(``, "no valid JSON")
	f(`[]`, "wrong type")
	f(`{}`, "findings is missing")
	f(plainInput[:len(plainInput)-1], "no valid JSON")
	f(plainInput+plainInput, "no valid JSON")
	f(strings.Replace(plainInput, `"risks":[]`, `"risks":[],"risks":[]`, 1), "twice")
	f(strings.Replace(plainInput, `"risks":[]`, `"risks":[],"SECRET":1`, 1), "does not have")
	f(with("steps", `[{"text":"a","refs":[],"SECRET":"SECRET"}]`), "does not have at /steps/0")
	f(with("txType", `"SECRET"`), "txType is none of the allowed")
	f(with("confidence", `"very"`), "confidence is none")
	f(with("protocol", `"Uni swap"`), "protocol")
	f(with("summary", `"  "`), "summary is empty")
	f(with("summary", `"`+strings.Repeat("x", written(maxSummary)+1)+`"`), "summary is longer than 1500")
	f(with("summary", `7`), "wrong type at /summary")
	f(with("steps", `[`+strings.Repeat(`{"text":"a","refs":[]},`, maxSteps)+`{"text":"a","refs":[]}]`), "steps has more than 30")
	f(with("contracts", `[{"address":"0xSECRET","description":""}]`), "wrong type at /contracts/0/address")
	f(with("figures", `[{"kind":"guess","of":[]}]`), "figures[0].kind")
	f(with("risks", `[{"flag":"luck","text":"a","refs":[]}]`), "risks[0].flag")
	f(with("risks", `[{"flag":"bad_debt","text":"a","refs":[]}]`), "")
	f(with("nonFindings", `[{"check":"luck","result":"clean","why":"","refs":[]}]`), "nonFindings[0].check")
	finding := func(more string) string {
		return `[{"broken_invariant":"x","category":"reentrancy","severity":"high","status":"probable","confidence":"high","victim":[],"attacker":[],"evidence":[],"check":""` + more + `}]`
	}
	f(with("findings", finding("")), "")
	f(with("findings", strings.Replace(finding(""), "reentrancy", "flash_loan", 1)), "flash_loan is an amplifier")
	f(with("findings", strings.Replace(finding(""), "reentrancy", "misconfiguration", 1)), "findings[0].category")
	f(with("findings", finding(`,"amplifiers":["money"]`)), "findings[0].amplifiers")
	f(strings.Repeat(" ", llm.MaxInput)+plainInput, "longer than")
	f(strings.Repeat("[", 5000), "wrong type")
}

// TestSchema: the schema is a JSON document with the members that Parse knows, and
// what it calls required is.
func TestSchema(t *testing.T) {
	tool := Tool()
	var doc struct {
		Required   []string       `json:"required"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(tool.Schema, &doc); err != nil {
		t.Fatal(err)
	}
	if string(Tool().Schema) != string(tool.Schema) || strings.Contains(string(tool.Schema), `"{`) {
		t.Error("the schema changes, or has places left open")
	}
	if len(doc.Required) != len(required) || len(doc.Properties) != len(required)+1 {
		t.Errorf("%d required, %d members", len(doc.Required), len(doc.Properties))
	}
	for _, name := range doc.Required {
		if doc.Properties[name] == nil {
			t.Errorf("%s is required and not described", name)
		}
		if _, err := Parse(jsontext.Value(strings.Replace(plainInput, `"`+name+`"`, `"x"`, 1))); err == nil || !strings.Contains(err.Error(), name+" is missing") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for _, list := range []interface{ Enum() []any }{api.Category(""), api.Severity(""), api.FindingStatus(""), api.TxType(""), NonCheck(""), FigureKind(""), Flag("")} {
		for _, v := range list.Enum() {
			b, _ := json.Marshal(v)
			if !strings.Contains(string(tool.Schema), string(b)) {
				t.Errorf("%v is not in the schema", v)
			}
		}
	}
}

// FuzzParse: any input is an answer or an *InvalidError, and what is read can be
// applied.
func FuzzParse(f *testing.F) {
	good, err := json.Marshal(goodAnswer())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(plainInput))
	f.Add(good)
	f.Add([]byte(`{"findings":[{"victim":["0x"]}]}`))
	c := exploitCase(f)
	ix := NewIndex(c)
	f.Fuzz(func(t *testing.T, input []byte) {
		a, err := Parse(input)
		if err != nil {
			if _, ok := err.(*InvalidError); !ok || len(err.Error()) > 4000 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		r, _ := Apply(c, a, ix)
		if strings.ContainsAny(r.Summary, "<>`{}") || len([]rune(r.Summary)) > 2*maxSummary {
			t.Fatalf("summary %q", r.Summary)
		}
	})
}
