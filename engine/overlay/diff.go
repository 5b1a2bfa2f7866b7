package overlay

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"txlens/engine/chain"
	"txlens/engine/incident"
	"txlens/engine/label"
)

// Change is one thing that the user says otherwise than the tables of the program, or that these
// do not have.
type Change struct {
	Kind string // label, token, chain, protocol or incident
	What string // an address on a chain, a hash or a name
	Old  string // empty: the tables have nothing
	New  string
}

// Changes compare the data with the tables of the program, kind by kind in an order that is the
// same for the same files.
func (d *Data) Changes() []Change {
	list := d.labelChanges()
	list = append(list, d.tokenChanges()...)
	for _, c := range d.chains {
		list = append(list, Change{"chain", fmt.Sprint(c.ID), "", fmt.Sprintf("%s (%s)", c.Name, c.Slug)})
	}
	for _, p := range d.protocols {
		what := fmt.Sprintf("%s, %d contracts, %d declarations", p.Name, len(p.Contracts), len(p.Signatures))
		list = append(list, Change{"protocol", p.Slug, "", what})
	}
	for _, at := range slices.SortedFunc(maps.Keys(d.incidents), func(a, b event) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), a.tx.Cmp(b.tx))
	}) {
		old, _ := incident.Lookup(at.chain, at.tx)
		if x := d.incidents[at]; x.Name != old.Name {
			list = append(list, Change{"incident", d.onChain(at.chain, at.tx.Hex()), old.Name, x.Name})
		}
	}
	return list
}

func (d *Data) labelChanges() (list []Change) {
	for i, o := range d.origins {
		e := d.labels[o.at]
		if int(e.origin) != i { // a later file names the address
			continue
		}
		old, _ := label.Lookup(o.at.chain, o.at.address)
		if old.Name != e.name {
			list = append(list, Change{"label", d.onChain(o.at.chain, o.at.address.Hex()), old.Name, e.name})
		}
	}
	return list
}

func (d *Data) tokenChanges() (list []Change) {
	for _, at := range slices.SortedFunc(maps.Keys(d.tokens), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), bytes.Compare(a.address[:], b.address[:]))
	}) {
		was := ""
		if old, ok := label.LookupToken(at.chain, at.address); ok {
			was = tokenText(old)
		}
		if now := tokenText(d.tokens[at]); now != was {
			list = append(list, Change{"token", d.onChain(at.chain, at.address.Hex()), was, now})
		}
	}
	return list
}

func tokenText(t label.Token) string {
	if t.Decimals == nil {
		return t.Symbol
	}
	return fmt.Sprintf("%s, %d decimals", t.Symbol, *t.Decimals)
}

// onChain writes where something is.
func (d *Data) onChain(id uint64, what string) string {
	if id == 0 {
		return what + " on every chain"
	}
	for _, c := range d.chains {
		if c.ID == id {
			return what + " on " + c.Slug
		}
	}
	if c, ok := chain.ByID(id); ok {
		return what + " on " + c.Slug
	}
	return what
}
