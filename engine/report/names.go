package report

import (
	"strings"

	"txlens/engine/api"
)

// maxLabel bounds a label in characters wherever it is shown.
const maxLabel = 60

// names knows who is who in one Result.
type names struct {
	only   map[api.Addr]string // learn these alone; nil: all
	labels map[api.Addr]string
	roles  map[api.Addr]string
	short  *api.Abbreviations
	native string       // symbol of the native coin
	price  *api.Decimal // of the native coin, when the Result knows it
	units  map[api.Addr]tokenUnit

	// bearers are the tokens by their symbols in lower case; of a symbol that many have it is
	// several.
	bearers map[string]api.Addr
	pools   map[api.Addr][2]api.Addr // the tokens of pools
}

func newNames(r *api.Result) *names { return namesOf(r, nil) }

// namesOf learns the addresses that are keys of only; nil means all. A diagram
// names two dozen addresses of a result that may hold thousands.
func namesOf(r *api.Result, only map[api.Addr]string) *names {
	n := &names{only: only, labels: map[api.Addr]string{}, roles: map[api.Addr]string{}, short: api.NewAbbreviations(), native: "native coin"}
	if only == nil {
		n.pools = poolTokens(r)
	}
	n.bear(r)
	for _, a := range r.Addresses {
		n.short.Add(a.Address)
		n.learn(a.Address, a.Label, a.Role)
	}
	for _, b := range r.BalanceChanges {
		n.learn(b.Address, b.Label, b.Role)
		for _, t := range b.Tokens {
			if t.TokenAddress == (api.Addr{}) && t.TokenID == nil && api.OneLine(t.TokenSymbol, 20) != "" {
				n.native, n.price = api.OneLine(t.TokenSymbol, 20), t.PriceUSD
			}
		}
	}
	n.units = n.tokenUnits(r)
	for _, c := range r.Contracts {
		if api.OneLine(c.Name, 40) != n.roles[c.Address] { // the role is its name where it has none
			n.learn(c.Address, quoted(c.Name), "")
		}
	}
	for i := range r.PrettyTrace {
		node := &r.PrettyTrace[i]
		n.learn(node.From, node.FromLabel, "")
		if node.To != nil {
			n.learn(*node.To, node.ToLabel, "")
		}
	}
	return n
}

// several stands for more than one token; no token lies there.
var several = api.Addr{0: 0xff, 19: 0xff}

// bear finds the symbols that more than one token has.
func (n *names) bear(r *api.Result) {
	n.bearers = map[string]api.Addr{}
	last := map[api.Addr]string{} // symbols
	add := func(a api.Addr, symbol string) {
		if was, ok := last[a]; ok && was == symbol {
			return
		}
		last[a] = symbol
		n.short.Add(a)
		key := strings.ToLower(api.OneLine(symbol, maxSymbol))
		switch other, ok := n.bearers[key]; {
		case !ok:
			n.bearers[key] = a
		case other != a && other != several:
			n.bearers[key] = several
		}
	}
	for i := range r.TokenTransfers {
		add(r.TokenTransfers[i].TokenAddress, r.TokenTransfers[i].TokenSymbol)
	}
	for i := range r.BalanceChanges {
		for j := range r.BalanceChanges[i].Tokens {
			t := &r.BalanceChanges[i].Tokens[j]
			add(t.TokenAddress, t.TokenSymbol)
		}
	}
	if r.Sandwich == nil {
		return
	}
	for _, trade := range r.Sandwich.Trades {
		for _, x := range []*api.StepAmount{trade.Given, trade.Taken} {
			if x != nil {
				add(x.TokenAddress, x.TokenSymbol)
			}
		}
	}
}

// learn keeps the first label and the first role that are said of an address. A
// label that only repeats the role is none.
func (n *names) learn(a api.Addr, label, role string) {
	if n.only != nil && n.only[a] == "" {
		return
	}
	if role != "" && role != api.RoleAccount && role != api.RoleContract && n.roles[a] == "" {
		n.roles[a] = api.OneLine(role, 40)
	}
	if label == "" || n.labels[a] != "" {
		return
	}
	if label = api.OneLine(label, maxLabel); label != "" && label != n.roles[a] && !repeats(label, a) {
		n.labels[a] = label
	}
}

// quoted is the name of a contract, which whoever deployed it chose.
func quoted(name string) string {
	if name == "" {
		return ""
	}
	return api.Quote(name, maxLabel-2)
}

// repeats reports whether a label is the address itself.
func repeats(label string, a api.Addr) bool {
	return strings.HasPrefix(label, "0x") && (label == a.String() || label == a.Short())
}

// party is one address as it is shown.
type party struct {
	Address string // in full
	Short   string
	Label   string // may be empty
	Role    string
}

func (n *names) party(a api.Addr) party {
	if a == (api.Addr{}) {
		return party{Address: a.String(), Short: "zero address"}
	}
	return party{Address: a.String(), Short: n.short.Of(a), Label: n.labels[a], Role: n.roles[a]}
}

// Lead, Middle and Tail are the parts of an address: the page shows the outer two
// and an ellipsis, but who copies them has the middle too. There is no Middle
// where no part is hidden.
func (p party) Lead() string { return p.Address[:6] }

// Middle is the hidden part.
func (p party) Middle() string {
	if len(p.Address) != 42 || !strings.HasPrefix(p.Short, "0x") || p.Short == p.Address {
		return ""
	}
	return p.Address[6:38]
}

// Tail is the end of the address.
func (p party) Tail() string { return p.Address[38:] }

// Name is the label, or the role and short address.
func (p party) Name() string {
	switch {
	case p.Label != "":
		return p.Label
	case p.Role != "":
		return p.Role + " " + p.Short
	}
	return p.Short
}

// Known is the short address and the label.
func (p party) Known() string { return strings.TrimRight(p.Short+" "+p.Label, " ") }

// Both is the short address and the label, or the role where there is none.
func (p party) Both() string {
	if p.Label == "" {
		return p.Short + brackets(p.Role)
	}
	return p.Known()
}
