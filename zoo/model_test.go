package zoo

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/analysis"
	"txlens/engine/agent"
	"txlens/engine/agent/claim"
	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/catalog"
	"txlens/engine/api"
	"txlens/testkit/scripted"
)

// object is JSON.
type object map[string]any

// TestModelClaimsExploit: a model that is asked over HTTP says of a transaction, in
// its own words, that a contract was robbed by reentrancy. Where that is so its
// finding stands; of the twin, which makes the same calls, it says the same in vain.
func TestModelClaimsExploit(t *testing.T) {
	base := open(t)
	const words = "The vault must forget a claim before it pays; it paid the claim of {frame:0.1} again in {frame:0.1.0.0}."
	rendered := strings.NewReplacer("{frame:", "frame ", "}", "").Replace(words)
	f := func(vault string, stands bool) {
		t.Helper()
		w := on(t, base.node, base.head)
		hash := reenter(w, vault)
		robbed, robber := accused(w, hash)
		finding := object{
			"id": "m1", "broken_invariant": words, "category": "reentrancy", "severity": "critical", "status": "confirmed", "confidence": "high",
			"victim": []any{robbed}, "attacker": []any{robber}, "primary": true,
			"check": "sent(" + robbed.Hex() + ", native) > value(0.0)",
			"evidence": []any{
				object{"claim": "the claim is paid", "kind": "observed", "frame": "0.1.0", "address": robber, "source": "trace"},
				object{"claim": "it is claimed again meanwhile", "kind": "observed", "frame": "0.1.0.0", "address": robbed, "source": "trace"},
			},
		}
		res := w.explainWith(hash, "is this an exploit?", claims(t, finding))
		said := false
		for _, f := range res.Findings {
			said = said || f.BrokenInvariant == rendered && f.Status == api.Confirmed && f.Category == api.Reentrancy
		}
		by := api.ModelRules // nothing of a refuted verdict is left
		if stands {
			by = api.DefaultModel
		}
		if res.AnalysisModel != by || said != stands || (orNone(res.TxType) == "exploit") != stands {
			t.Errorf("%s: %s by %s, its finding stands: %v\n%s", vault, orNone(res.TxType), res.AnalysisModel, said, tell(w, res))
		}
		if d := res.Provenance.Dropped; !stands && (d == nil || d.Findings+d.Evidence+d.Demoted == 0) {
			t.Errorf("%s: what did not stand is not told: %+v", vault, d)
		}
	}
	f("PayFirstVault", true)
	f("ForgetFirstVault", false)
}

// accused are the contract that is called and the one that calls it again.
func accused(w *world, hash common.Hash) (robbed, robber common.Address) {
	w.tb.Helper()
	for addr, name := range w.names {
		switch name {
		case "vault":
			robbed = addr
		case "bot":
			robber = addr
		}
	}
	if robbed == robber {
		w.tb.Fatalf("%s: who is who is not known", hash)
	}
	return robbed, robber
}

// claims is a model that submits one finding.
func claims(tb testing.TB, finding object) *analysis.Agent {
	tb.Helper()
	answer, err := json.Marshal(object{
		"findings": []any{finding}, "nonFindings": []any{}, "txType": "exploit", "protocol": nil, "confidence": "high", "figures": []any{}, "steps": []any{},
		"summary": "{address:sender} called {call:0}.", "risks": []any{}, "contracts": []any{}, "traceAnnotations": []any{},
	})
	if err != nil {
		tb.Fatal(err)
	}
	s := scripted.New(scripted.Turn{Calls: []scripted.Call{{Name: claim.ToolName, Input: scripted.Split(string(answer), 64)}}, Usage: llm.Usage{Input: 10, Output: 10}})
	tb.Cleanup(s.Close)
	c := catalog.Config{Kind: "anthropic"}
	c.BaseURL, c.Key = s.Anthropic(), scripted.Key
	provider, err := catalog.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := c.Model(api.DefaultModel)
	if err != nil {
		tb.Fatal(err)
	}
	return &analysis.Agent{
		Provider: provider, Models: map[string]analysis.AgentModel{api.DefaultModel: {ID: m.ID, Price: m.Price}},
		Limits: agent.Limits{Turns: 4, Tokens: 500_000, Thinking: -1}, Patience: time.Minute,
	}
}
