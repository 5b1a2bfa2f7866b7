package facts

import (
	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// Abbreviate is the short form of an address, which no other address of the transaction
// has.
func (a *Case) Abbreviate(addr common.Address) string {
	a.abbreviate.Do(func() { a.abbreviations = a.allAddresses() })
	return a.abbreviations.Of(api.AddrOf(addr))
}

// allAddresses are those that sentences may name.
func (a *Case) allAddresses() *api.Abbreviations {
	x := api.NewAbbreviations()
	add := func(addr common.Address) { x.Add(api.AddrOf(addr)) }
	add(a.Sender)
	if a.Tx.To != nil {
		add(*a.Tx.To)
	}
	if a.Tree != nil {
		for _, f := range a.Tree.Frames {
			add(f.To) // who calls was called, or sent the transaction
		}
	}
	if a.Receipt != nil {
		for i := range a.Receipt.Logs {
			add(a.Receipt.Logs[i].Address)
		}
	}
	if a.Flow != nil {
		for i := range a.Flow.Transfers {
			add(a.Flow.Transfers[i].From)
			add(a.Flow.Transfers[i].To)
		}
		for i := range a.Flow.Changes {
			add(a.Flow.Changes[i].Address)
		}
	}
	for i := range a.Matches {
		for _, p := range a.Matches[i].Party {
			add(p)
		}
	}
	return x
}
