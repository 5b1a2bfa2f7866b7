package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"txlens/engine/assemble"

	"github.com/go-json-experiment/json/jsontext"
)

// TestToolbox: names, schemas and descriptions are what vendors take, the same
// each time, and every object of a schema is closed.
func TestToolbox(t *testing.T) {
	last := ""
	for _, x := range All() {
		if x.Name <= last || len(x.Description) < 40 || len(x.Description) > 500 {
			t.Errorf("%s after %s: %d characters of description", x.Name, last, len(x.Description))
		}
		last = x.Name
		var schema any
		if err := json.Unmarshal(x.Schema, &schema); err != nil {
			t.Errorf("%s: %v: %s", x.Name, err, x.Schema)
		}
		closed(t, x.Name, schema)
		if again := tool(t, x.Name); string(again.Schema) != string(x.Schema) {
			t.Errorf("%s: another schema", x.Name)
		}
	}
	if len(All()) != 17 {
		t.Errorf("%d tools", len(All()))
	}
}

func closed(t *testing.T, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "object" && (v["additionalProperties"] != false || v["properties"] == nil || v["required"] == nil) {
			t.Errorf("%s is open: %v", at, v)
		}
		for name, sub := range v {
			closed(t, at+"/"+name, sub)
		}
	case []any:
		for _, sub := range v {
			closed(t, at, sub)
		}
	}
}

// TestInputErrors: what is wrong is said so that the next call can be right.
func TestInputErrors(t *testing.T) {
	d := owned(t)
	f := func(name, input, want string) {
		t.Helper()
		if got := called(t, d, name, input); got != "error: input of "+name+": "+want {
			t.Errorf("%s %.100s: got %s", name, input, got)
		}
	}
	f("get_frame", ``, "/frame is missing")
	f("get_frame", `{}`, "/frame is missing")
	f("get_frame", `[]`, "want a JSON object")
	f("get_frame", `{"frame":0}`, "/frame: JSON value must be string type")
	f("get_frame", `{"frame":"0.x"}`, "/frame: a frame path is 0 for the root, 0.2 for its third call, 0.2.1 for the second call of that one")
	f("get_frame", `{"frame":"0","why":1}`, "there is no member /why")
	f("get_frame", `{"frame":"0","frame":"0"}`, "it is no JSON object")
	f("get_frame", `{"frame":"0"`, "it is no JSON object")
	f("get_subtree", `{"levels":21}`, "/levels: want 0 to 20")
	f("get_subtree", `{"offset":-1}`, "/offset: want 0 to 1000000")
	f("get_subtree", `{"limit":"many"}`, "/limit: not a JSON integer")
	f("get_storage", `{"address":"0x12","slots":[]}`, "/address: an address is 0x and 40 hex digits")
	f("get_storage", `{"address":"0x1111111111111111111111111111111111111111","slots":["0x`+strings.Repeat("1", 65)+`"]}`, "/slots/0: a word is 0x and at most 64 hex digits, or a decimal number below 2^256")
	f("get_storage", `{"address":"0x1111111111111111111111111111111111111111","slots":[`+strings.Repeat(`"0",`, 20)+`"0"]}`, "/slots: want at most 20 elements")
	f("simulate", `{"valueWei":"-1"}`, "/valueWei: an amount is a string: a decimal number of base units, or 0x and hex digits, below 2^256")
	f("simulate", `{"words":[{"word":1}]}`, "/words/0/value is missing")
	f("simulate", `{"input":"0x1"}`, "/input: want 0x and an even number of hex digits")
	f("call_contract", `{"to":"0x1111111111111111111111111111111111111111","when":"now"}`, "/when: want one of before, after")
	f("get_source", `{"address":"0x1111111111111111111111111111111111111111","function":"`+strings.Repeat("x", 81)+`"}`, "/function: want at most 80 characters")
	f("get_frame", `{"frame":"`+strings.Repeat("0", maxInput)+`"}`, "it is larger than 64 KiB")
}

// TestWithoutTransaction: every tool says that there is nothing to look at.
func TestWithoutTransaction(t *testing.T) {
	a := `"0x1111111111111111111111111111111111111111"`
	inputs := map[string]string{"get_frame": `{"frame":"0"}`, "decode_calldata": `{"frame":"0"}`, "get_storage": `{"address":` + a + `,"slots":[]}`,
		"get_label": `{"addresses":[]}`, "call_contract": `{"to":` + a + `}`, "get_token": `{"token":` + a + `}`, "get_price": `{"token":` + a + `}`,
		"get_abi": `{"address":` + a + `}`, "get_source": `{"address":` + a + `}`, "get_account": `{"address":` + a + `}`}
	d := &Env{Case: &assemble.Analysis{Evidence: &assemble.Evidence{}}}
	for _, x := range All() {
		input := inputs[x.Name]
		if input == "" {
			input = `{}`
		}
		if got := called(t, d, x.Name, input); got != `{"unavailable":"the transaction itself could not be had"}` {
			t.Errorf("%s: %s", x.Name, got)
		}
	}
}

// FuzzInput: whatever a model sends, each tool gives an answer or an error, and
// the answer fits.
func FuzzInput(f *testing.F) {
	a := "0x6b175474e89094c44da98b954eedeac495271d0f"
	for _, seed := range []string{
		`{}`, `{"frame":"0.0"}`, `{"frame":"0","levels":20,"limit":100}`, `{"from":1,"to":5,"event":"Transfer"}`, `{"address":"` + a + `","slots":["0","0x1"]}`,
		`{"addresses":["` + a + `"],"tokens":["` + a + `"]}`, `{"token":"` + a + `"}`, `{"to":"` + a + `","signature":"balanceOf(address)","args":["` + a + `"]}`,
		`{"without":[{"frame":"0.0","returns":"0x00"}],"words":[{"word":0,"value":"1"}],"balances":[{"address":"` + a + `","wei":"1"}]}`,
		`{"address":"` + a + `","function":"transfer"}`, `{"before":2,"after":2,"logs":true}`, `{"storage":[{"address":"` + a + `","slot":"0","value":"0"}],"atBlock":1}`,
	} {
		for i := range All() {
			f.Add(uint8(i), seed)
		}
	}
	d := owned(f)
	f.Fuzz(func(t *testing.T, which uint8, input string) {
		x := All()[int(which)%len(All())]
		answer, err := x.Do(t.Context(), d, jsontext.Value(input), 0)
		if err != nil {
			if len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%s: %q", x.Name, err)
			}
			return
		}
		if text := Mark(answer); strings.HasSuffix(text, markCut+markClose) {
			t.Errorf("%s %s: the answer did not fit", x.Name, input)
		}
	})
}

// TestPathDepth: a path names its root and up to 128 calls below it.
func TestPathDepth(t *testing.T) {
	f := func(text string, ok bool) {
		t.Helper()
		var p Path
		if err := p.UnmarshalText([]byte(text)); (err == nil) != ok || ok && string(p) != text {
			t.Errorf("%.20q, %d bytes: %v", text, len(text), err)
		}
	}
	f("0", true)
	f("0"+strings.Repeat(".1", 128), true)
	f("0"+strings.Repeat(".1", 129), false)
	f("0"+strings.Repeat(".1234567", 128), true)
	f("0.12345678", false)
	f("0.01", false)
	f("0.", false)
	f("1", false)
	f("", false)
}
