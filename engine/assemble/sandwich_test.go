package assemble

import (
	"fmt"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
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
