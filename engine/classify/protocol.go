package classify

import (
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/label"
	"txlens/engine/protocol"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

func isCreate(f *trace.Frame) bool { return f.Kind == trace.Create || f.Kind == trace.Create2 }

// protocolOf names the protocol of an opinion, or nothing. What a Safe did by itself,
// with no other protocol, is an act of the Safe.
func (a *Reading) protocolOf(o *opinion) string {
	slug := a.protocolOfAct(o)
	if slug == "" && o.act != actTransfer && o.act != actApproval {
		slug = a.brandOf(o)
	}
	if slug == "" && a.how == asSafe && len(a.actors) == 1 {
		return "safe"
	}
	return slug
}

// protocolOfAct: a front door that was called names what went through it; else an
// aggregator names the whole swap; else the events do, when they agree; else the
// contract that the actor called.
func (a *Reading) protocolOfAct(o *opinion) string {
	entry := ""
	if a.hasTo {
		entry = a.ProtocolAt(a.entry)
	}
	if entry == "safe" && a.how == asSafe || entry == "permit2" && o.act != actApproval {
		entry = ""
	}
	switch {
	case o.act == actApproval && entry == "permit2":
		return entry
	case o.act == actTransfer && a.hasTo && a.labelOf(a.entry).Category == "payment":
		return entry
	case o.act == actTransfer || o.act == actApproval:
		return ""
	case o.act == actWrap || o.act == actUnwrap:
		if len(o.hits) > 0 {
			return a.ProtocolAt(o.hits[0].emitter)
		}
		return ""
	case entry != "" && a.frontDoor(o):
		return entry
	case o.place != common.Address{}:
		return a.ProtocolAt(o.place)
	}
	slug, agreed := slugOf(o.hits)
	if at := slices.IndexFunc(o.hits, aggregates); at >= 0 {
		return o.hits[at].slug
	}
	switch {
	case o.act != actSwap && o.act != "arbitrage" && slug != "" && (agreed || o.hits[0].slug == slug):
		return slug
	case entry == "uniswap" && agreed && slug != "" && o.act == actSwap:
		return slug // the router of all versions; the pools say which
	case entry != "":
		return entry
	case a.call != nil && a.call.own:
		return a.call.slug
	case agreed && slug != "":
		return slug
	}
	if a.call != nil && len(o.hits) == 0 && o.act == a.call.act && !forked(a.call.slug) {
		return a.call.slug
	}
	return ""
}

// brandOf names the protocol by an event that only its contracts emit, though it says
// nothing of the act: of the contract that was called or that the act happened at, of
// the actor; else of the only such protocol of the transaction.
func (a *Reading) brandOf(o *opinion) string {
	only, agreed := "", true
	for i := range a.brands {
		b := &a.brands[i]
		if a.hasTo && b.emitter == a.entry || contains(b.party, a.actor) {
			return b.slug
		}
		for _, h := range o.hits {
			if h.emitter == b.emitter {
				return b.slug
			}
		}
		agreed = agreed && (only == "" || only == b.slug)
		only = b.slug
	}
	if !agreed || len(a.hits) > 0 {
		return ""
	}
	return only
}

// frontDoor reports whether the called contract takes users' orders and has others fill
// them: what a user swapped or bridged at an aggregator, or put into a vault that lends
// it on, he did with its protocol.
func (a *Reading) frontDoor(o *opinion) bool {
	bridged := typeOf(o.act) == api.TypeBridge
	if a.how == asIntent || a.ProtocolAt(a.entry) == "uniswap" || bridged && a.isToken(a.entry) {
		return false
	}
	switch a.labelOf(a.entry).Category {
	case "aggregator", "router":
		return o.act == actSwap || bridged
	case "bridge":
		return bridged
	case "":
		return false
	}
	return o.act != actSwap
}

func aggregates(h *hit) bool {
	return h.rule != nil && h.rule.flags&flagAggregator != 0 && h.slug != ""
}

// slugOf is the protocol that the events of an opinion name first, and whether all of
// them name it.
func slugOf(hits []*hit) (slug string, agreed bool) {
	agreed = true
	for _, h := range hits {
		switch {
		case h.rule == nil:
		case h.slug == "":
			agreed = false
		case slug == "":
			slug = h.slug
		case slug != h.slug:
			agreed = false
		}
	}
	return slug, agreed
}

// forked reports whether other protocols share the functions of a protocol.
func forked(slug string) bool {
	p := protocol.Find(slug)
	return p != nil && p.Forked
}

// labelOf is the best label of an address: what was given with the facts, then what
// the rules themselves know.
func (a *Reading) labelOf(addr common.Address) label.Label {
	l, ok := a.Labels[addr]
	if ok && l.Protocol != "" {
		return l
	}
	if t := a.Tokens[addr]; t.Listed && strings.HasPrefix(strings.ToLower(t.Symbol), "yv") && len(t.Symbol) > 3 {
		l.Protocol, l.Category = "yearn", "yield" // the share of a vault; lists of tokens vouch for it
		return l
	}
	if own, found := a.reg.labelOf(a.chainID, addr); found {
		return own
	}
	return l
}

// ProtocolAt is the slug of the protocol that an address belongs to, or empty.
func (a *Reading) ProtocolAt(addr common.Address) string {
	l := a.labelOf(addr)
	if l.Protocol == "" {
		return ""
	}
	return canonical(l)
}

// isRollup reports whether a slug is that of a rollup, whose name is also the slug of the
// label of its bridge.
func isRollup(slug string) bool {
	p := protocol.Find(slug)
	return p != nil && p.Rollup && p.Slug == slug
}

// rollupBridge names the rollup's own end of its bridge: the contracts of the stack
// stand at the same addresses on all of them.
func (a *Reading) rollupBridge() string {
	if a.Chain != nil && a.Chain.Stack.SharedBridge() {
		if name := strings.TrimSuffix(a.Chain.Slug, "-mainnet"); isRollup(name) {
			return name + "_bridge"
		}
	}
	return "op_stack_bridge"
}

// canonical maps the slug of a label onto that of results: one slug for all versions
// where the events do not tell them apart, none for standards.
func canonical(l label.Label) string {
	p := protocol.Find(l.Protocol)
	switch {
	case p == nil:
		return l.Protocol
	case p.Kind != protocol.Named:
		return ""
	case l.Category == "bridge" && p.Rollup:
		return p.Slug + "_bridge"
	}
	return p.Slug
}
