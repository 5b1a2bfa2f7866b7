package api

import (
	"errors"
	"fmt"
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
		_, err := ParseRequest([]byte(body), nil)
		switch {
		case wantErr == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
			t.Errorf("%s: got %v, want %q", body, err, wantErr)
		}
	}
	ok := `"txHash":"` + someHash + `"`
	const known = "is not known; leave it out, known are txHash, chainId, context, model, report"
	f(`{`+ok+`}`, "")
	f(`{`+ok+`,"chainId":1,"context":"why","model":"model-opus-5","report":true}`, "")
	f(` { "report" : false , "context":"" ,`+ok+`} `, "")
	f(`{`+ok+`,"chainId":18446744073709551615}`, "")

	f(`{`+ok+`,"somethingElse":[1,2]}`, "somethingElse: "+known)
	f(`{`+ok+`,"TXHASH":"x"}`, "TXHASH: "+known)
	f(`{"hash":"`+someHash+`"}`, "hash: "+known)
	f(`{`+ok+`,"":1}`, `"": `+known)
	f(`{`+ok+`,"`+strings.Repeat("x", 5000)+`\n":1}`, strings.Repeat("x", 59)+"…: "+known)

	f(`{"txHash":"`+strings.ToUpper(someHash[2:])+`"}`, "txHash: must be 0x and 64 hex digits")
	f(`{}`, "txHash: is missing")
	f(`{"txHash":12}`, "txHash: must be a string")
	f(`{"txHash":null}`, "txHash: must be a string")
	f(`{"txHash":"0x12"}`, "txHash: must be 0x and 64 hex digits")

	for _, v := range []string{`"1"`, `-1`, `-0`, `0`, `1.5`, `1.0`, `1e0`, `1E2`, `18446744073709551616`, `null`, `true`, `[1]`, `{}`} {
		f(`{`+ok+`,"chainId":`+v+`}`, "chainId: must be a positive integer in plain digits, or the slug of a chain such as base-mainnet; leave it out")
	}
	for _, v := range []string{`"yes"`, `1`, `null`, `[]`} {
		f(`{`+ok+`,"report":`+v+`}`, "report: must be a boolean, true or false")
	}
	for _, v := range []string{`""`, `null`, `5`} {
		f(`{`+ok+`,"model":`+v+`}`, "model: must be the name of a model; leave it out for the default")
	}
	f(`{`+ok+`,"model":"gpt"}`, "model: is unknown; leave it out for the default, or name one of model-opus-5")
	f(`{`+ok+`,"context":null}`, "context: must be a string")
	f(`{`+ok+`,"context":{"a":1,"a":2}}`, "context: must be a string")
	f(`{`+ok+`,"context":"`+strings.Repeat("x", MaxContext+1)+`"}`, "context: is 2049 bytes long")
	f(`{`+ok+`,"context":"`+strings.Repeat("x", MaxContext)+`"}`, "")

	f(`{`+ok+`,`+ok+`}`, "txHash: is given more than once; give it once")
	f(`{`+ok+`,"chainId":1,"chainId":1}`, "chainId: is given more than once")
	f(`{`+ok+`,"x":1,"x":2}`, "x: "+known)
	f(`{`+ok+`,"chainId":0,"model":""}`, "chainId: ") // the first that is wrong

	f(`[]`, "the body must be a JSON object")
	f(`"x"`, "the body must be a JSON object")
	f(`null`, "the body must be a JSON object")
	f(`{`+ok, "not valid JSON in UTF-8, at byte 78")
	f(`{`+ok+`} x`, "not valid JSON")
	f(`{`+ok+`}{}`, "not valid JSON")
	f(`{"x":1,`, "not valid JSON") // before what is wrong with a member
	f(``, "not valid JSON")
	f("{\"txHash\":\"\xff\"}", "not valid JSON")
	f(`{`+ok+`,"context":"\ud800"}`, "not valid JSON")
}

// TestParseRequestSaysNoInternals: what the decoder says of a body stays inside.
func TestParseRequestSaysNoInternals(t *testing.T) {
	for _, body := range []string{``, `{`, `{"txHash":tru}`, `{"a" 1}`, "{\"a\":\"\xff\"}", `{"a":01}`, `{"chainId":1e999}`, `[`, `{}}`} {
		_, err := ParseRequest([]byte(body), nil)
		if err == nil || strings.Contains(err.Error(), "jsontext") || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "strconv") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"txHash":"` + someHash + `","chainId":1}`))
	f.Add([]byte(`{"txHash":null,"context":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ParseRequest(body, nil)
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
	f(&NotFoundError{TxHash: "0x1", Asked: 1}, "transaction 0x1 not found on 1 chain")
	f(&NotFoundError{TxHash: "0x1"}, "transaction 0x1 not found")
}

func TestUnavailableError(t *testing.T) {
	f := func(e *UnavailableError, code, want string) {
		t.Helper()
		if e.Error() != want || errors.Is(e, ErrNotFound) || !errors.Is(e, ErrUnavailable) {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
		if got := FaultOf(fmt.Errorf("probe: %w", e)); got.Code != code {
			t.Errorf("code %s, want %s", got.Code, code)
		}
	}
	_, err := ParseRequest([]byte(`{"txHash":"0x`+strings.Repeat("ab", 32)+`","chain":"base-mainnet"}`), nil)
	if err == nil || !strings.Contains(err.Error(), "name the chain in chainId") {
		t.Errorf("chain: %v", err)
	}
	f(&UnavailableError{TxHash: "0x1", Silent: []string{"a"}}, CodeUnavailable, "transaction 0x1 could not be looked up: 1 chain did not answer: a")
	f(&UnavailableError{TxHash: "0x1", Asked: 2, Silent: []string{"a", "b"}}, CodeUnavailable, "transaction 0x1 could not be looked up: 2 chains did not answer: a, b; it is not on the 2 chains that answered")
	f(&UnavailableError{TxHash: "0x1", Silent: []string{"a"}, Unpaid: true}, CodePayment, "transaction 0x1 could not be looked up: 1 chain did not answer: a")
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

// TestParseRequestSlug: a chain may be named by a slug that the caller of the package knows.
func TestParseRequestSlug(t *testing.T) {
	bySlug := func(slug string) (uint64, bool) { return 8453, slug == "base-mainnet" }
	f := func(value string, want uint64) {
		t.Helper()
		r, err := ParseRequest([]byte(`{"txHash":"`+someHash+`","chainId":`+value+`}`), bySlug)
		if r.ChainID != want || (err == nil) != (want != 0) {
			t.Errorf("%s: %d, %v", value, r.ChainID, err)
		}
		if _, err := ParseRequest([]byte(`{"txHash":"`+someHash+`","chainId":`+value+`}`), nil); (err == nil) != (want == 1) {
			t.Errorf("%s without slugs: %v", value, err)
		}
	}
	f(`1`, 1)
	f(`"base-mainnet"`, 8453)
	f(`"base\u002dmainnet"`, 8453)
	f(`"8453"`, 0)
	f(`"elsewhere"`, 0)
	f(`""`, 0)
	f(`null`, 0)
}

func TestFresh(t *testing.T) {
	f := func(v string, want, wantBad bool) {
		t.Helper()
		r, err := ParseRequest([]byte(`{"txHash":"0x`+strings.Repeat("a", 64)+`","fresh":`+v+`}`), nil)
		if (err != nil) != wantBad || r.Fresh != want && !wantBad {
			t.Errorf("%s: %v, %v", v, r.Fresh, err)
		}
	}
	f("true", true, false)
	f("false", false, false)
	f(`"true"`, false, true)
	f("1", false, true)
}
