package catalog

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/engine/api"
)

// TestCostByHand: each model of the interface at its list price, reckoned by hand in
// nano-dollars from dollars per million tokens.
func TestCostByHand(t *testing.T) {
	f := func(model, id string, u llm.Usage, want int64) {
		t.Helper()
		m, err := Config{Kind: Anthropic}.Model(model)
		if err != nil || m.ID != id || m.Name != model {
			t.Errorf("%+v, %v, want %s", m, err, id)
		}
		if got := m.Price.Cost(u); got != want {
			t.Errorf("%s: %+v costs %d, want %d", model, u, got, want)
		}
	}
	// A first turn: 6,007 tokens of digest, 1,203 of answer, nothing cached.
	first := llm.Usage{Input: 6007, Output: 1203}
	// 6,007 x $5 + 1,203 x $25 = 30,035 + 30,075 millionths of a dollar.
	f("model-opus-5", "claude-opus-5", first, 60_110_000)
	f("model-opus-4-8", "claude-opus-4-8", first, 60_110_000)
	f("model-opus-4-7", "claude-opus-4-7", first, 60_110_000)
	// x $3 + x $15 = 18,021 + 18,045
	f("model-sonnet-4-6", "claude-sonnet-4-6", first, 36_066_000)
	// x $1 + x $5 = 6,007 + 6,015
	f("model-haiku-4-5-20251001", "claude-haiku-4-5-20251001", first, 12_022_000)

	// A later turn: 13 tokens new, 7,211 read from the cache, 417 written, 89 of answer.
	later := llm.Usage{Input: 13, Output: 89, CacheRead: 7211, CacheWrite: 417}
	// 13 x $5 + 89 x $25 + 7,211 x $0.50 + 417 x $6.25 = 65 + 2,225 + 3,605.5 + 2,606.25
	f("model-opus-5", "claude-opus-5", later, 8_501_750)
	f("model-opus-4-8", "claude-opus-4-8", later, 8_501_750)
	f("model-opus-4-7", "claude-opus-4-7", later, 8_501_750)
	// 39 + 1,335 + 7,211 x $0.30 + 417 x $3.75 = 39 + 1,335 + 2,163.3 + 1,563.75
	f("model-sonnet-4-6", "claude-sonnet-4-6", later, 5_101_050)
	// 13 + 445 + 7,211 x $0.10 + 417 x $1.25 = 13 + 445 + 721.1 + 521.25
	f("model-haiku-4-5-20251001", "claude-haiku-4-5-20251001", later, 1_700_350)
}

// TestListAgreesWithTheInterface: it states the price of each model relative to the
// default one.
func TestListAgreesWithTheInterface(t *testing.T) {
	whole := list[api.DefaultModel]
	for _, m := range api.Models() {
		p, ok := list[m.Name]
		if !ok || p.Input*100 != whole.Input*int64(m.RelativeCost) || p.Output*100 != whole.Output*int64(m.RelativeCost) {
			t.Errorf("%s: %+v", m.Name, p)
		}
	}
	if len(list) != len(api.Models()) {
		t.Errorf("%d prices for %d models", len(list), len(api.Models()))
	}
}

func TestModel(t *testing.T) {
	cheap := llm.Price{Input: 1, Output: 2}
	own := Config{Kind: Anthropic, Models: map[string]string{"model-opus-5": "vendor/opus@5"}, Prices: map[string]llm.Price{"model-opus-5": cheap, Every: {}}}
	local := Config{Kind: OpenAI, Models: map[string]string{Every: "qwen3:32b", "model-opus-5": "big"}, Prices: map[string]llm.Price{Every: {}}}
	f := func(c Config, name string, want Model, wrong string) {
		t.Helper()
		m, err := c.Model(name)
		if wrong == "" && (err != nil || m != want) || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%q: %+v, %v", name, m, err)
		}
	}
	f(own, "", Model{"model-opus-5", "vendor/opus@5", cheap}, "")
	f(own, "model-opus-4-7", Model{"model-opus-4-7", "claude-opus-4-7", llm.Price{}}, "")
	f(local, "model-opus-5", Model{"model-opus-5", "big", llm.Price{}}, "")
	f(local, "model-sonnet-4-6", Model{"model-sonnet-4-6", "qwen3:32b", llm.Price{}}, "")
	f(local, "gpt", Model{}, `"gpt" is no model: want one of model-opus-5, model-opus-4-8`)
	f(own, "claude-opus-5", Model{}, "is no model")
}

func TestNew(t *testing.T) {
	free := map[string]llm.Price{Every: {}}
	all := map[string]string{Every: "x"}
	f := func(c Config, wrong string) {
		t.Helper()
		p, err := New(c)
		if wrong != "" {
			if err == nil || p != nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%+v: %v, %v, want %q", c, p, err, wrong)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("%v tells a secret", err)
			}
			return
		}
		if err != nil || p == nil {
			t.Fatalf("%+v: %v, %v", c, p, err)
		}
		_ = p.(io.Closer).Close()
	}
	for _, off := range []Kind{"", Off} {
		if p, err := New(Config{Kind: off}); p != nil || err != nil {
			t.Errorf("%q: %v, %v", off, p, err)
		}
	}
	at := func(url, key string) llmhttp.Config { return llmhttp.Config{BaseURL: url, Key: key} }
	f(Config{Kind: Anthropic, Config: at("", "s3cret")}, "")
	f(Config{Kind: Anthropic, Config: at("https://gateway.example/anthropic", "s3cret")}, "")
	f(Config{Kind: OpenAI, Config: at("http://127.0.0.1:11434/v1", ""), Models: all, Prices: free}, "")
	f(Config{Kind: OpenAI, Config: at("http://ollama:11434/v1", "s3cret"), Models: all, Prices: free}, "")
	f(Config{Kind: OpenAI, Config: at("http://[::1]:11434/v1", "s3cret"), Models: all, Prices: free}, "")
	f(Config{Kind: OpenAI, Config: at("http://192.168.1.5/v1", "s3cret"), Models: all, Prices: free}, "")
	f(Config{Kind: "gemini"}, fmt.Sprintf(`"gemini" is not a kind of provider: want one of %q`, Kinds()))
	f(Config{Kind: Anthropic}, "wants a key")
	f(Config{Kind: OpenAI, Models: all, Prices: free}, "wants a key")
	f(Config{Kind: OpenAI, Config: at("http://127.0.0.1:1", ""), Prices: free}, "model-opus-5: say which model")
	f(Config{Kind: OpenAI, Config: at("http://127.0.0.1:1", ""), Models: all}, "model-opus-5: say what its tokens cost")
	f(Config{Kind: Anthropic, Config: at("", "k"), Models: map[string]string{"opus": "x"}}, `"opus" is no model`)
	f(Config{Kind: Anthropic, Config: at("", "k"), Prices: map[string]llm.Price{"opus": {}}}, `"opus" is no model`)
	f(Config{Kind: Anthropic, Config: at("", "k"), Models: map[string]string{"model-opus-5": " "}}, "say which model")
	f(Config{Kind: Anthropic, Config: at("http://gateway.example", "s3cret")}, "unencrypted")
	f(Config{Kind: Anthropic, Config: at("https://u:hunter2@gateway.example", "s3cret")}, "no user")
	f(Config{Kind: Anthropic, Config: at("https://gateway.example/?k=hunter2", "s3cret")}, "no user, query")
	f(Config{Kind: Anthropic, Config: at("gateway.example", "s3cret")}, "must be http")
	f(Config{Kind: Anthropic, Config: at("ftp://hunter2", "s3cret")}, "must be http")
	f(Config{Kind: Anthropic, Config: at("http://hunter2\x7f", "s3cret")}, "cannot be read")
	f(Config{Kind: Anthropic, Config: at("", "s3cret\n")}, "the key has a character")
}
