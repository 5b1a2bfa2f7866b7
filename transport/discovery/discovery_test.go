package discovery

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"txlens/engine/api"
	"txlens/testkit/golden"
)

var limits = Limits{Body: 65536, Head: 16384, Deadline: 120 * time.Second, Heartbeat: 15 * time.Second, RunRecord: 16 << 20}

var twoChains = []Chain{{1, "ethereum-mainnet", "Ethereum", true}, {4217, "tempo-mainnet", "Tempo", false}}

func documents(t *testing.T, cfg Config) *Set {
	t.Helper()
	base, err := ParseBaseURL("https://txlens.example")
	if err != nil {
		t.Fatal(err)
	}
	cfg.BaseURL, cfg.Chains = base, twoChains
	if cfg.Limits == (Limits{}) {
		cfg.Limits = limits
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGolden: the documents as they are sent, of both kinds of deployment; JSON is
// indented here so that a difference can be read.
func TestGolden(t *testing.T) {
	for name, cfg := range map[string]Config{"unmetered": {}, "metered": {Metered: true}} {
		s := documents(t, cfg)
		for _, path := range Paths() {
			d, ok := s.At(path, BaseURL{})
			if !ok || bytes.Contains(d.Body, []byte("base.invalid")) {
				t.Errorf("%s: %v", path, ok)
			}
			got := d.Body
			if mediaType(d.ContentType) == "application/json" {
				var b bytes.Buffer
				if err := json.Indent(&b, d.Body, "", "  "); err != nil {
					t.Fatal(err)
				}
				got = b.Bytes()
			}
			golden.Compare(t, filepath.Join("testdata", name, path), got)
		}
	}
}

// TestSameBytes: nothing in the documents goes by the order of a map.
func TestSameBytes(t *testing.T) {
	one := documents(t, Config{})
	for range 5 {
		two := documents(t, Config{})
		for _, path := range Paths() {
			a, _ := one.At(path, BaseURL{})
			b, _ := two.At(path, BaseURL{})
			if a.ETag != b.ETag || !bytes.Equal(a.Body, b.Body) {
				t.Errorf("%s differs from one making to the next", path)
			}
		}
	}
}

// TestWords: each schema and member is described, and each line of the tables is
// about one that exists.
func TestWords(t *testing.T) {
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]bool{}
	for name, s := range all {
		members[name] = true
		if text(s) == "" {
			t.Errorf("fields.tsv: no line for %s", name)
		}
		props, _ := s["properties"].(schema)
		for m, v := range props {
			members[name+"."+m] = true
			if strings.HasSuffix(name, "Event") {
				members["Event."+m] = true
			}
			if text(v.(schema)) == "" {
				t.Errorf("fields.tsv: no line for %s.%s", name, m)
			}
		}
	}
	for key := range memberTexts {
		if !members[key] {
			t.Errorf("fields.tsv: %s is nothing", key)
		}
	}
	for key := range memberDetails {
		if !members[key] {
			t.Errorf("exact: %s is nothing", key)
		}
	}
	for i, line := range strings.Split(fieldTable, "\n") {
		if line != "" && !strings.HasPrefix(line, "#") && strings.Count(line, "\t") != 1 {
			t.Errorf("fields.tsv:%d: %q", i+1, line)
		}
	}
}

// TestEvents: each type of the layouts has a schema, with its members in it.
func TestEvents(t *testing.T) {
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	mapping := all["StreamEvent"]["discriminator"].(schema)["mapping"].(map[string]string)
	if len(mapping) != len(api.Layouts())+1 {
		t.Errorf("%d events are described, %d have a layout", len(mapping), len(api.Layouts()))
	}
	for kind, layout := range api.Layouts() {
		s := all[eventSchema(kind)]
		props, _ := s["properties"].(schema)
		if len(props) != len(layout)+2 || mapping[string(kind)] != componentPrefix+eventSchema(kind) {
			t.Errorf("%s: %v", kind, props)
		}
		for _, m := range layout {
			name, maybe := strings.CutSuffix(m, "?")
			if props[name] == nil || slices.Contains(s["required"].([]string), name) == maybe {
				t.Errorf("%s: member %s", kind, m)
			}
		}
	}
}

// read parses a JSON document of a deployment.
func read(t *testing.T, cfg Config, path string, into any) {
	t.Helper()
	d, _ := documents(t, cfg).At(path, BaseURL{})
	if err := json.Unmarshal(d.Body, into); err != nil {
		t.Fatal(err)
	}
}

// TestToolSpec: exactly the members that the interface lists.
func TestToolSpec(t *testing.T) {
	var spec map[string]any
	read(t, Config{}, "/tool-spec.json", &spec)
	var keys []string
	for k := range spec {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if want := []string{"anthropic", "auth", "baseUrl", "defaultModel", "endpoints", "openai", "openapiUrl", "skillUrl", "version"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q", keys)
	}
	if spec["auth"] != "mpp-x402" || spec["version"] != 1.0 || spec["baseUrl"] != "https://txlens.example" || spec["defaultModel"] != api.DefaultModel {
		t.Errorf("%v %v %v %v", spec["auth"], spec["version"], spec["baseUrl"], spec["defaultModel"])
	}
	want := []string{"explain_transaction", "start_explain_job", "get_job_result"}
	anthropic, openai := spec["anthropic"].([]any), spec["openai"].([]any)
	if len(anthropic) != 3 || len(openai) != 3 {
		t.Fatalf("%d and %d tools", len(anthropic), len(openai))
	}
	for i, name := range want {
		a, o := anthropic[i].(map[string]any), openai[i].(map[string]any)["function"].(map[string]any)
		if a["name"] != name || o["name"] != name || a["input_schema"] == nil || o["parameters"] == nil {
			t.Errorf("tool %d: %v, %v", i, a["name"], o["name"])
		}
	}
}

// TestPaymentIsTold: each paid operation has an offer and a 402; whether it is
// charged is that of the deployment; what is free has neither, and what only moves a
// channel sells nothing.
func TestPaymentIsTold(t *testing.T) {
	f := func(cfg Config, security, operations int) {
		t.Helper()
		doc, err := openapi3.NewLoader().LoadFromData(mustOpenAPI(t, cfg))
		if err != nil {
			t.Fatal(err)
		}
		if info := doc.Extensions["x-service-info"].(map[string]any); info["metered"] != cfg.Metered || len(info["categories"].([]any)) == 0 || len(info["docs"].(map[string]any)) != 3 {
			t.Errorf("%v", info)
		}
		paid := 0
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				info, ok := op.Extensions["x-payment-info"].(map[string]any)
				if moves := strings.HasPrefix(op.OperationID, "manageAt"); (op.Responses.Status(402) != nil) != (ok || moves) || ok && moves || op.Security == nil {
					t.Errorf("%s %s: offer %v, 402 %v", method, path, ok, op.Responses.Status(402) != nil)
				}
				if !ok {
					continue
				}
				paid++
				offer := info["offers"].([]any)[0].(map[string]any)
				if info["charged"] != cfg.Metered || offer["amount"] != "10000" || offer["intent"] != "session" || offer["method"] != "tempo" || offer["currency"] != DefaultTerms.Currency || offer["priceMode"] != "dynamic" {
					t.Errorf("%s %s: %v", method, path, info)
				}
				if n := len((*op.Security)[0]); n != security {
					t.Errorf("%s %s needs %d credentials", method, path, n)
				}
			}
		}
		if paid != operations {
			t.Errorf("%d paid operations", paid)
		}
		for _, path := range []string{"/SKILL.md", "/llms.txt", "/tool-spec.json", "/llms-full.txt"} {
			d, _ := documents(t, cfg).At(path, BaseURL{})
			if says := bytes.Contains(d.Body, []byte("charges nothing")); says == cfg.Metered {
				t.Errorf("%s says that nothing is charged: %v", path, says)
			}
		}
	}
	f(Config{}, 0, 7)
	f(Config{Metered: true}, 1, 7) // those under which a channel is only moved sell nothing
}

func mustOpenAPI(t *testing.T, cfg Config) []byte {
	t.Helper()
	d, _ := documents(t, cfg).At("/openapi.json", BaseURL{})
	return d.Body
}

// TestIsOpenAPI asks an independent reader of OpenAPI 3.1.
func TestIsOpenAPI(t *testing.T) {
	for _, cfg := range []Config{{}, {Metered: true}} {
		loader := openapi3.NewLoader()
		doc, err := loader.LoadFromData(mustOpenAPI(t, cfg))
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Validate(loader.Context); err != nil {
			t.Error(err)
		}
		if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.0.0" || doc.Servers[0].URL != "https://txlens.example" {
			t.Errorf("%s %s %v", doc.OpenAPI, doc.Info.Version, doc.Servers[0])
		}
	}
}

// TestEveryCodeIsTold: in the documents for agents, with what to do.
func TestEveryCodeIsTold(t *testing.T) {
	s := documents(t, Config{})
	for _, path := range []string{"/SKILL.md", "/llms-full.txt"} {
		d, _ := s.At(path, BaseURL{})
		for _, c := range api.ErrorCodes() {
			if !bytes.Contains(d.Body, []byte("`"+c.Code+"`")) || !bytes.Contains(d.Body, []byte(c.Action)) {
				t.Errorf("%s lacks %s", path, c.Code)
			}
		}
	}
}

func TestParseBaseURL(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, err := ParseBaseURL(in)
		if (err != nil) != (want == "") || got.String() != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	f("https://txlens.example", "https://txlens.example")
	f("https://txlens.example/", "https://txlens.example")
	f("https://txlens.example/a/b_c/", "https://txlens.example/a/b_c")
	f("http://127.0.0.1:8402", "http://127.0.0.1:8402")
	f("http://[::1]:8402", "http://[::1]:8402")
	f("", "")
	f("txlens.example", "")
	f("ftp://txlens.example", "")
	f("https://", "")
	f("https://user@txlens.example", "")
	f("https://txlens.example?x", "")
	f("https://txlens.example/a b", "")
	f("https://txlens.example/#x", "")
	f(`https://x"y`, "")
	f("https://"+strings.Repeat("x", 600), "")
	var b BaseURL
	if err := b.UnmarshalText(nil); err != nil || b.String() != "" {
		t.Errorf("an empty one: %q, %v", b, err)
	}
}

func FuzzParseBaseURL(f *testing.F) {
	f.Add("https://txlens.example/a")
	f.Add("http://[::1]:1/")
	f.Add(`https://x"><`)
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBaseURL(s)
		if err != nil {
			return
		}
		if again, err := ParseBaseURL(b.String()); err != nil || again != b || strings.ContainsAny(b.String(), "\"'\\<>() \n\t`{}") {
			t.Errorf("%q: %q, %v", s, b, err)
		}
	})
}

func TestDollars(t *testing.T) {
	f := func(base uint64, want string) {
		t.Helper()
		if got := dollars(base); got != want {
			t.Errorf("%d: %s, want %s", base, got, want)
		}
	}
	f(10_000, "$0.01")
	f(16_000_000, "$16")
	f(2_500_000, "$2.50")
	f(2_500_100, "$2.5001")
	f(1, "$0.000001")
	f(0, "$0")
}

func TestSpan(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := formatDuration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	f(time.Second, "1 second")
	f(90*time.Second, "90 seconds")
	f(2*time.Minute, "2 minutes")
	f(time.Hour, "1 hour")
	f(30*24*time.Hour, "30 days")
	f(1500*time.Millisecond, "1.5s")
	f(0, "0s")
}
