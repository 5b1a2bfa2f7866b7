package digest

import (
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/assemble"

	"github.com/ethereum/go-ethereum/common"
)

// names abbreviates addresses, which saves two thirds of their tokens, and records them, so
// that the list of addresses has each in full. Two addresses with the same abbreviation are
// written in full everywhere, because look-alike addresses are made to be confused.
type names struct {
	c        *assemble.Analysis
	labels   map[api.Addr]api.Address
	byShort  map[string]api.Addr // short form to its first address, zero when there are several
	order    []api.Addr          // in order of first use
	used     map[api.Addr]bool
	contract map[api.Addr]string // descriptions
}

// lookedUp reports whether a contract's metadata was requested.
func lookedUp(c *assemble.Analysis, a common.Address) bool {
	return c.Evidence.Contracts[a] != nil || c.Evidence.Tokens[a].Symbol != ""
}

func newNames(c *assemble.Analysis) *names {
	n := &names{
		c:        c,
		labels:   map[api.Addr]api.Address{},
		byShort:  map[string]api.Addr{},
		used:     map[api.Addr]bool{},
		contract: map[api.Addr]string{},
	}
	for _, a := range c.Result.Addresses {
		n.labels[a.Address] = a
		n.add(a.Address)
	}
	// Beyond the list of a large result there are more that could be twins.
	for i := range c.Result.PrettyTrace {
		node := &c.Result.PrettyTrace[i]
		n.add(node.From)
		if node.To != nil {
			n.add(*node.To)
		}
	}
	for _, t := range c.Result.TokenTransfers {
		n.add(t.From)
		n.add(t.To)
	}
	for _, k := range c.Result.Contracts {
		if at := common.Address(k.Address); lookedUp(c, at) {
			n.contract[k.Address] = k.Description
		}
	}
	return n
}

func (n *names) add(a api.Addr) {
	s := a.Short()
	if first, ok := n.byShort[s]; !ok {
		n.byShort[s] = a
	} else if first != a {
		n.byShort[s] = api.Addr{}
	}
}

// short returns the short form of an address and records its use.
func (n *names) short(a api.Addr) string {
	if !n.used[a] {
		n.used[a] = true
		n.order = append(n.order, a)
	}
	s := a.Short()
	if only, ok := n.byShort[s]; ok && only != a {
		return a.String()
	}
	return s
}

// addresses lists in full the addresses that the digest abbreviates, with all that is known
// about them.
func (w *writer) addresses() {
	var rows []row
	for _, a := range w.names.order {
		known := w.names.labels[a]
		rows = append(
			rows,
			trimmed(row{a.String(), api.OneLine(known.Label, 60), w.names.provenance(a), role(known), api.OneLine(w.names.contract[a], 120)}),
		)
	}
	title, rows := cut("Addresses above, as {address:ADDRESS}: address, label, who says so, role here, code", rows, w.b.addresses)
	section(w, title, rows)
	w.protocols()
}

// protocols lists the protocols that references may name: those of the rules and of our
// labels.
func (w *writer) protocols() {
	var list []string
	add := func(slug string) {
		if slug != "" && !slices.Contains(list, slug) {
			list = append(list, slug)
		}
	}
	if p := w.r.Protocol; p != nil {
		add(*p)
	}
	for _, a := range w.names.order {
		if l, ok := w.c.Evidence.LabelOf(common.Address(a)); ok {
			add(l.Protocol)
		}
	}
	if v := w.c.Verdict; v != nil {
		for _, vote := range v.Votes {
			add(vote.Protocol)
		}
	}
	title, list := cut("Protocols, as {protocol:SLUG}", list, w.b.notes)
	section(w, title, list)
}

func role(a api.Address) string {
	if a.Role == a.Label {
		return ""
	}
	return a.Role
}

// provenance distinguishes a label of our tables from a name that a contract gave itself.
func (n *names) provenance(a api.Addr) string {
	at := common.Address(a)
	if n.labels[a].Label == "" || n.labels[a].Label == n.labels[a].Role {
		return ""
	}
	if l, ok := n.c.Evidence.LabelOf(at); ok {
		return l.Source
	}
	if t, ok := n.c.Evidence.Tokens[at]; ok && t.Symbol != "" {
		return "the token itself"
	}
	if k := n.c.Evidence.Contracts[at]; k != nil {
		return "source on " + k.Source
	}
	return "role"
}

// symbol returns a token's symbol as one short word.
func symbol(s string, token api.Addr) string {
	if s = api.OneLine(strings.ReplaceAll(s, "\"", ""), 20); s != "" {
		return s
	}
	return token.Short()
}

// storage counts the slots that changed, for each account.
func (w *writer) storage() {
	d := w.c.Evidence.Diff
	if d == nil {
		return
	}
	counts := map[common.Address]int{}
	for a, acc := range d.Pre {
		for slot, before := range acc.Storage {
			if after := d.Post[a]; after == nil || after.Storage[slot] != before {
				counts[a]++
			}
		}
	}
	for a, acc := range d.Post {
		for slot := range acc.Storage {
			if pre := d.Pre[a]; pre == nil {
				counts[a]++
			} else if _, ok := pre.Storage[slot]; !ok {
				counts[a]++
			}
		}
	}
	list := make([]common.Address, 0, len(counts))
	for a := range counts {
		list = append(list, a)
	}
	slices.SortFunc(list, func(x, y common.Address) int {
		if counts[x] != counts[y] {
			return counts[y] - counts[x]
		}
		return x.Cmp(y)
	})
	title, list := cut("Storage slots that changed, by account", list, w.b.storage)
	var rows []row
	for _, a := range list {
		rows = append(rows, row{w.names.short(api.AddrOf(a)), counts[a]})
	}
	section(w, title, rows)
}
