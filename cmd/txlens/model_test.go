package main

import (
	"strings"
	"testing"
	"time"

	"txlens/app/settings"
	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/testkit/service"
)

const providerKey = "sk-none-of-your-business-0123456789"

// TestModelSettings: what is wrong is told before anybody is asked, by the flag, and
// without the key.
func TestModelSettings(t *testing.T) {
	good := service.KeyFile(t, providerKey+"\n", 0o600)
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errOut := command(t, "", append([]string{"serve", "--check", "--data", t.TempDir()}, args...)...)
		wantCode := exitComplete
		if want != "" {
			wantCode = exitBadInput
		}
		if code != wantCode || !strings.Contains(errOut, want) || want == "" && !strings.Contains(out, "The settings are good") {
			t.Errorf("%q: exit %d, %s\nwant %q", args, code, errOut, want)
		}
		if strings.Contains(out+errOut, providerKey[:12]) {
			t.Errorf("%q: the key is told: %s%s", args, out, errOut)
		}
	}
	anthropic := func(want string, args ...string) {
		t.Helper()
		f(want, append([]string{"--provider", "anthropic", "--provider-key-file", good}, args...)...)
	}
	f("")
	f("", "--default-model", "model-sonnet-4-6")
	f(`--default-model: "claude-opus-5" is no model; there are model-opus-5`, "--default-model", "claude-opus-5")
	f("--provider", "--provider", "somebody")
	f("--provider-key-file: anthropic wants a key; name its file, or set TXLENS_PROVIDER_KEY", "--provider", "anthropic")
	f("no such file", "--provider", "anthropic", "--provider-key-file", good+".not")
	f("is empty", "--provider", "anthropic", "--provider-key-file", service.KeyFile(t, "\n", 0o600))
	f("every account can read it", "--provider", "anthropic", "--provider-key-file", service.KeyFile(t, providerKey, 0o644))
	f("a character that cannot be sent", "--provider", "anthropic", "--provider-key-file", service.KeyFile(t, providerKey+"\nagain", 0o600))
	f("is longer than 4096 bytes", "--provider", "anthropic", "--provider-key-file", service.KeyFile(t, strings.Repeat(providerKey, 200), 0o600))
	anthropic("")
	anthropic("", "--model-id", "model-opus-5=own-opus", "--model-price", "model-opus-5=input:1,output:2", "--provider-url", "https://gateway.example/v9")
	anthropic("--provider-url: the key would go to gateway.example unencrypted", "--provider-url", "http://gateway.example")
	anthropic("--provider-url: the base URL must be", "--provider-url", "gateway")
	anthropic(`--model-id: "gpt" is no model`, "--model-id", "gpt=x")
	anthropic(`--model-price: "gpt" is no model`, "--model-price", "gpt=0")
	anthropic("--model-price model-opus-5: input: \"1.5\" is no whole number", "--model-price", "model-opus-5=input:1.5,output:2")
	anthropic("--model-turns", "--model-turns", "0")
	anthropic("--model-tokens", "--model-tokens", "0")
	anthropic("--model-thinking", "--model-thinking", "-1")
	anthropic("--model-patience", "--model-patience", "0s")
	anthropic("--model-budget", "--model-budget", "0")
	anthropic("--model-budget", "--model-budget", "much")
	anthropic("--playbooks", "--playbooks", good+".not")
	f("--model-id, --model-price: model-opus-5: say which model of the provider it is", "--provider", "openai", "--provider-url", "http://127.0.0.1:11434/v1")
	f("--model-id, --model-price: model-opus-5: say what its tokens cost", "--provider", "openai", "--provider-url", "http://127.0.0.1:11434/v1", "--model-id", "*=qwen")
	f("", "--provider", "openai", "--provider-url", "http://127.0.0.1:11434/v1", "--model-id", "*=qwen", "--model-price", "*=0")
	f("", "--config", settingsIn(t, "provider = \"openai\"\nprovider-url = \"http://127.0.0.1:11434/v1\"\nmodel-turns = 5\nmodel-budget = \"0.5\"\n[model-id]\n\"*\" = \"qwen\"\n[model-price]\n\"*\" = \"input:1,output:2\"\n"))
	f(`"provider-key" is no setting`, "--config", settingsIn(t, "provider-key = \""+providerKey+"\"\n"))
	t.Setenv(settings.ProviderKeyEnv, providerKey)
	f("", "--provider", "anthropic")
	f("TXLENS_PROVIDER_KEY holds a key, too", "--provider", "anthropic", "--provider-key-file", good)
}

// TestModelOfSettings: the settings reach the agent as they are meant.
func TestModelOfSettings(t *testing.T) {
	f := settings.Model{
		Provider: "anthropic", ProviderKey: service.KeyFile(t, providerKey+"\n", 0o600), Default: "model-sonnet-4-6", Turns: 3, Tokens: 4000, Budget: "0.25", Patience: time.Minute,
		IDs: map[string]string{"model-haiku-4-5-20251001": "own"}, TokenPrices: map[string]string{"model-opus-4-8": "input:7,output:9"},
	}
	a, err := f.Agent()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Provider == nil || len(a.Models) != len(api.Models()) || a.Default != "model-sonnet-4-6" || a.Patience != time.Minute {
		t.Errorf("%+v", a)
	}
	if l := a.Limits; l.Turns != 3 || l.Tokens != 4000 || l.Nano != 250_000_000 || l.Thinking != -1 {
		t.Errorf("%+v", l)
	}
	if m := a.Models["model-opus-5"]; m.ID != "claude-opus-5" || m.Price.Output != 25_000 {
		t.Errorf("%+v", m)
	}
	if m := a.Models["model-haiku-4-5-20251001"]; m.ID != "own" || m.Price.Input != 1000 {
		t.Errorf("%+v", m)
	}
	if m := a.Models["model-opus-4-8"]; m.Price != (llm.Price{Input: 7, Output: 9, CacheRead: 7, CacheWrite: 7}) {
		t.Errorf("%+v", m)
	}
	if a, err := (&settings.Model{}).Agent(); a != nil || err != nil {
		t.Errorf("no settings at all: %v %v", a, err)
	}
}
