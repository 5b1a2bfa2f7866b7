package explain

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

const someHash = "0x0374cabdae148b333f73a939ce24c54a613f46db615599f3a25f850493a06384"

func TestParseRequest(t *testing.T) {
	f := func(body, wantErr string) {
		t.Helper()
		_, err := ParseRequest([]byte(body))
		switch {
		case wantErr == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
			t.Errorf("%s: got %v, want %q", body, err, wantErr)
		}
	}
	ok := `"txHash":"` + someHash + `"`
	f(`{`+ok+`}`, "")
	f(`{`+ok+`,"chainId":1,"context":"why","model":"model-opus-5","report":true}`, "")
	f(`{`+ok+`,"somethingElse":[1,2]}`, "")
	f(`{"txHash":"`+strings.ToUpper(someHash[2:])+`"}`, "txHash: must be 0x and 64 hex digits")
	f(`{}`, "txHash: is missing")
	f(`{"txHash":12}`, "txHash: must be a string")
	f(`{"txHash":"0x12"}`, "txHash: must be 0x and 64 hex digits")
	f(`{`+ok+`,"chainId":"1"}`, "chainId: must be a positive integer")
	f(`{`+ok+`,"chainId":-1}`, "chainId: must be a positive integer")
	f(`{`+ok+`,"chainId":1.5}`, "chainId: must be a positive integer")
	f(`{`+ok+`,"report":"yes"}`, "report: must be a boolean")
	f(`{`+ok+`,"model":"gpt"}`, "model: is unknown")
	f(`{`+ok+`,"context":"`+strings.Repeat("x", MaxContext+1)+`"}`, "context: is 2049 bytes long")
	f(`{`+ok+`,"context":"`+strings.Repeat("x", MaxContext)+`"}`, "")
	f(`[]`, "the body must be a JSON object")
	f(`"x"`, "the body must be a JSON object")
	f(`{`+ok+`,`+ok+`}`, "not valid JSON")
	f(`{`+ok, "not valid JSON")
	f(``, "not valid JSON")
	f("{\"txHash\":\"\xff\"}", "not valid JSON")
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"txHash":"` + someHash + `","chainId":1}`))
	f.Add([]byte(`{"txHash":null,"context":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ParseRequest(body)
		if err == nil && !regexp.MustCompile(HashPattern).MatchString(r.TxHash) {
			t.Fatalf("accepted hash %q", r.TxHash)
		}
	})
}

func TestDecimal(t *testing.T) {
	f := func(unscaled int64, scale, round int, want string) {
		t.Helper()
		d := Decimal{big.NewInt(unscaled), scale}.Round(round)
		if got := d.String(); got != want {
			t.Errorf("%de-%d rounded to %d: got %s, want %s", unscaled, scale, round, got, want)
		}
		if b, err := json.Marshal(d); err != nil || string(b) != want {
			t.Errorf("marshal: got %s, %v, want %s", b, err, want)
		}
	}
	f(0, 9, 9, "0")
	f(1, 9, 9, "0.000000001")
	f(-1, 9, 9, "-0.000000001")
	f(1500000000, 9, 9, "1.5")
	f(12345, 2, 9, "123.45")
	f(12345, 2, 1, "123.5")
	f(-12345, 2, 1, "-123.5")
	f(12344, 2, 1, "123.4")
	f(4, 1, 0, "0")
	f(5, 1, 0, "1")
	f(7, -3, 2, "7000")
}

func TestResultAlwaysPresent(t *testing.T) {
	b, err := json.Marshal(&Result{})
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, k := range strings.Fields("txHash chain chainName explorerBase status analysisModel summary steps risks protocol txType confidence addresses contracts usdValue costs toolCalls prettyTrace rawTrace txMeta tokenTransfers mermaidDiagram htmlReport") {
		if _, ok := m[k]; !ok {
			t.Errorf("an empty result lacks %q", k)
		}
		delete(m, k)
	}
	for k := range m {
		t.Errorf("an empty result has the optional %q", k)
	}
}

func TestConfidenceLower(t *testing.T) {
	f := func(a, b, want Confidence) {
		t.Helper()
		if got := a.Lower(b); got != want {
			t.Errorf("%s, %s: got %s", a, b, got)
		}
	}
	f(High, Low, Low)
	f(Low, High, Low)
	f(Medium, High, Medium)
	f(High, High, High)
}

func TestNotFoundError(t *testing.T) {
	f := func(e *NotFoundError, want string) {
		t.Helper()
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
	f(&NotFoundError{TxHash: "0x1", Asked: 109}, "transaction 0x1 not found on 109 chains")
	f(&NotFoundError{TxHash: "0x1", Asked: 1, Silent: []string{"a", "b"}}, "transaction 0x1 not found on 1 chain; 2 chains did not answer: a, b")
}

// TestIsHash: the loop knows what the published pattern knows.
func TestIsHash(t *testing.T) {
	pattern := regexp.MustCompile(HashPattern)
	good := "0x" + strings.Repeat("0aF9", 16)
	f := func(s string) {
		t.Helper()
		if got := isHash(s); got != pattern.MatchString(s) {
			t.Errorf("%q: %v", s, got)
		}
	}
	f("")
	f("0x")
	f(good)
	f(good[:65])
	f(good + "0")
	f(good[:65] + "\n")
	f("0X" + good[2:])
	for c := range 256 {
		f(good[:30] + string([]byte{byte(c)}) + good[31:])
		f(string([]byte{byte(c)}) + good[1:])
	}
}
