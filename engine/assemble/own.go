package assemble

import (
	"fmt"
	"maps"

	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// withOwn is the evidence with the tokens of the user. Decimals that are known otherwise stand:
// a mistyped number would make wrong amounts.
func (ev *Evidence) withOwn() *Evidence {
	if ev.Own == nil || ev.Chain == nil || ev.Tx == nil {
		return ev
	}
	added := map[common.Address]label.Token{}
	var notes []string
	for _, a := range ev.called() {
		t, ok := ev.Own.Token(ev.Chain.ID, a)
		if _, twice := added[a]; !ok || twice {
			continue
		}
		known, asked := ev.Tokens[a]
		if !asked {
			known, _ = label.LookupToken(ev.Chain.ID, a)
		}
		if d := known.Decimals; d != nil {
			if *d != *t.Decimals {
				notes = append(notes, fmt.Sprintf("%s has %d decimals by %s and %d by %s; the latter are used",
					t.Symbol, *t.Decimals, t.Source, *d, known.Source))
			}
			t.Decimals = d
		}
		added[a] = t
	}
	if len(added) == 0 {
		return ev
	}
	out := *ev
	out.Tokens = make(map[common.Address]label.Token, len(ev.Tokens)+len(added))
	maps.Copy(out.Tokens, ev.Tokens)
	maps.Copy(out.Tokens, added)
	out.Notes = append(append([]string(nil), ev.Notes...), notes...)
	return &out
}

// LabelOf is the label of an address from the user's data and the tables, without the names that
// contracts give themselves.
func (ev *Evidence) LabelOf(a common.Address) (label.Label, bool) {
	below, known := label.Of(ev.Chain.ID, a, ev.Tokens)
	if l, ok := ev.Own.Label(ev.Chain.ID, a); ok {
		return l.Over(below), true
	}
	return below, known
}

// called are the contracts that the transaction called or that logged, some of them twice.
func (ev *Evidence) called() (list []common.Address) {
	if ev.Tx.To != nil {
		list = append(list, *ev.Tx.To)
	}
	if ev.Tree != nil {
		for _, f := range ev.Tree.Frames {
			if f.HasTo {
				list = append(list, f.To)
			}
		}
	}
	if ev.Receipt != nil {
		for i := range ev.Receipt.Logs {
			list = append(list, ev.Receipt.Logs[i].Address)
		}
	}
	return list
}
