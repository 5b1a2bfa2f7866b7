package claim

import (
	"testing"

	"txlens/engine/api"
)

// TestNoForbiddenWords: words alone drop no sentence. What a transaction did can only be
// told in the words of the field, and a true sentence may hold any of them.
func TestNoForbiddenWords(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(s string) {
		t.Helper()
		if kept, bad := ix.prose(s, maxSummary); bad > 0 || kept != s {
			t.Errorf("%q: %q, %s", s, kept, ix.sentence(s))
		}
	}
	f("The liquidator keeps a liquidation bonus.")
	f("The loan is secured by collateral in the vault.")
	f("The new implementation was announced on chain before.")
	f("The governor overrides the fee of the vault.")
	f("The vault paid 5,000 USDC according to the trace.")
	f("The guard of the contract confirms the withdrawal, and the vault is drained.")
	f("The caller supplies the instruction that the contract runs.")
	f("The approval can be abused by whoever controls the spender.")
	f("The token blacklists the account, so the transfer fails.")
	f("The sale is for whitelisted buyers; the verdict of the dispute is final.")
}

// TestSummaryOfAnotherType: the summary of a model that judged the transaction as another
// type than the result does not stand, whatever its words.
func TestSummaryOfAnotherType(t *testing.T) {
	f := func(said api.TxType, findings bool, own bool) {
		t.Helper()
		const summary = "The funds of the vault were stolen."
		c := exploitCase(t)
		a := goodAnswer()
		a.TxType, a.Summary = said, summary
		a.Risks = append(a.Risks, Said{"The vault lost its funds.", []string{"frame:0"}})
		if !findings {
			a.Findings = nil
		}
		r, _ := Apply(c, a, NewIndex(c))
		if (r.Summary == summary) != own {
			t.Errorf("%s said, the result is %s: %q", said, *r.TxType, r.Summary)
		}
		if told := len(r.Steps) > len(c.Result.Steps) || len(r.TraceAnnotations) > 0 || len(r.Risks) > len(c.Result.Risks); said == api.TypeExploit && told != own {
			t.Errorf("%s said, the result is %s: steps %q, risks %q", said, *r.TxType, r.Steps, r.Risks)
		}
	}
	f(api.TypeExploit, true, true)
	f(api.TypeExploit, false, false)
	f(api.TypeSwap, false, false)
}
