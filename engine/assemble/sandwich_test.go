package assemble

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/narrate"
)

// TestRecordedSandwich: each part of a recorded sandwich tells of all three, with amounts, and
// nothing is told where the neighbours were not compared.
func TestRecordedSandwich(t *testing.T) {
	block := map[uint64][]*Evidence{}
	recordedStates(t, func(ev *Evidence) { block[*ev.Tx.BlockNumber] = append(block[*ev.Tx.BlockNumber], ev) })
	seen := map[string][]string{} // what is told, by the trades
	parts := map[string][]api.SandwichPart{}
	for _, list := range block {
		for i, ev := range list {
			ev.Neighbours = around(list, i)
			r := Result(ev)
			if r.Sandwich == nil {
				continue
			}
			key := ""
			for _, x := range r.Sandwich.Trades {
				key += fmt.Sprintf("%s %s %s %s; ", x.Part, x.TxHash[:10], told(x.Given), told(x.Taken))
				if x.Self != (x.TxHash == ev.Tx.Hash.Hex()) {
					t.Errorf("%s: self is %v of %s", ev.TxHash, x.Self, x.TxHash)
				}
				if x.Self {
					checkSandwichHeadline(t, r, &x)
					parts[r.Sandwich.Trades[0].TxHash] = append(parts[r.Sandwich.Trades[0].TxHash], x.Part)
				}
			}
			seen[r.Sandwich.Trades[0].TxHash] = append(seen[r.Sandwich.Trades[0].TxHash], key)
			ev.Neighbours = nil
			if Result(ev).Sandwich != nil {
				t.Errorf("%s: a sandwich without neighbours", ev.TxHash)
			}
		}
	}
	whole := 0
	for front, list := range seen {
		p := parts[front]
		slices.Sort(p)
		t.Logf("%v: %s", p, list[0])
		if slices.Equal(slices.Compact(p), []api.SandwichPart{api.SandwichBack, api.SandwichFront, api.SandwichVictim}) {
			whole++
		}
		if len(slices.Compact(list)) != 1 {
			t.Errorf("the parts tell different trades: %q", list)
		}
	}
	if len(block) > 0 && whole == 0 {
		t.Error("no recorded sandwich is told by all of its parts")
	}
}

// checkSandwichHeadline: the headline of a leg has the amounts of its trade in the pool, that
// of a victim says who traded around it.
func checkSandwichHeadline(t *testing.T, r *api.Result, x *api.SandwichTrade) {
	t.Helper()
	switch {
	case x.Part == api.SandwichVictim:
		if !strings.Contains(r.Summary, "; sandwiched by "+r.Sandwich.Searcher.Short()) {
			t.Errorf("%s: %s", x.TxHash, r.Summary)
		}
	case *r.TxType != api.TypeMEV || x.Given == nil || x.Taken == nil:
	default:
		for _, a := range []*api.StepAmount{x.Given, x.Taken} {
			n, ok := new(big.Int).SetString(a.RawAmount, 10)
			if !ok || !strings.Contains(r.Summary, narrate.Decimal(n, 18)+" "+a.TokenSymbol) { // as the recorded tokens have
				t.Errorf("%s does not tell %s %s: %s", x.TxHash, a.RawAmount, a.TokenSymbol, r.Summary)
			}
		}
	}
}

func told(a *api.StepAmount) string {
	if a == nil {
		return "?"
	}
	return a.RawAmount + " " + a.TokenAddress.Short()
}

// around are the receipts of up to four transactions on each side, as they are gathered.
func around(list []*Evidence, at int) *ethrpc.Neighbours {
	n := &ethrpc.Neighbours{}
	for i := max(0, at-4); i <= min(len(list)-1, at+4); i++ {
		switch rc := list[i].Receipt; {
		case i == at || rc.Status != nil && *rc.Status == 0:
		case i < at:
			n.Before = append(n.Before, rc)
		default:
			n.After = append(n.After, rc)
		}
	}
	return n
}

// TestNobodyIsAccusedWithoutAFinding: the word attacker stands only in results with a finding.
func TestNobodyIsAccusedWithoutAFinding(t *testing.T) {
	recordedStates(t, func(ev *Evidence) {
		r := Result(ev)
		if len(r.Findings) > 0 {
			return
		}
		for _, text := range slices.Concat([]string{r.Summary}, r.Steps, r.Risks) {
			if strings.Contains(text, "attacker") {
				t.Errorf("%s: %s", ev.TxHash, text)
			}
		}
	})
}
