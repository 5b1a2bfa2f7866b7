package check

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// broken is a rule that did not hold, before it is weighed.
type broken struct {
	category api.Category
	victim   common.Address
	faulty   common.Address  // whose rule it is; zero: the victim's
	lost     []flow.TokenKey // by the victim, to the sender's side
	control  bool            // of the victim was taken
	sentence verdict.Sentence
	check    string
	evidence []verdict.Evidence
	missing  []verdict.Sentence // what would have to be known; keeps the status at possible
}

// finding is a broken rule with what its severity follows from.
type finding struct {
	verdict.Finding
	broken broken
}

// find weighs what broke. The severity and the amplifiers follow from the rules of the
// check.
func (l *inspection) find(b broken) finding {
	out := verdict.Finding{Invariant: b.sentence, Evidence: b.evidence, Missing: b.missing, Facts: api.Finding{
		Category: b.category, Victim: []api.Addr{api.AddrOf(b.victim)}, Attacker: l.attackers(),
		Check: b.check, Confidence: api.High, Status: api.Confirmed,
	}}
	f := &out.Facts
	derived := slices.ContainsFunc(b.evidence, func(e verdict.Evidence) bool { return e.Facts.Kind != api.Observed })
	switch {
	case len(b.missing) > 0 || b.check == "":
		f.Status = api.Possible
	case derived || !l.full():
		f.Status = api.Probable
	}
	faulty := api.AddrOf(b.victim)
	if b.faulty != (common.Address{}) {
		faulty = api.AddrOf(b.faulty)
	}
	f.FaultyContract = &faulty
	if !l.full() {
		f.Confidence = api.Medium
		out.Missing = append(out.Missing, verdict.Say(verdict.MissingTrace))
	}
	if f.Status == api.Possible {
		f.Confidence = api.Low
	}
	if !l.sourced(b.victim) {
		f.Confidence = api.Low
		out.Missing = append(out.Missing, verdict.Say(verdict.MissingSource, verdict.Address(b.victim)))
	}
	return finding{out, b}
}

// Roles that findings give to addresses.
const (
	RoleAttacker = "attacker"
	RoleVictim   = "victim"
	RoleFaulty   = "vulnerable contract"
)

// Roles are those that a finding gives to addresses.
func Roles(f *api.Finding) map[api.Addr]string {
	roles := map[api.Addr]string{}
	for _, a := range f.Attacker {
		roles[a] = RoleAttacker
	}
	if f.FaultyContract != nil {
		roles[*f.FaultyContract] = RoleFaulty
	}
	for _, a := range f.Victim {
		if roles[a] == RoleFaulty {
			roles[a] = RoleVictim + ", " + RoleFaulty
		} else {
			roles[a] = RoleVictim
		}
	}
	return roles
}

// sourced reports whether code or ABI of an account are known; an account without code
// needs none.
func (l *inspection) sourced(a common.Address) bool {
	if c := l.Contracts[a]; c != nil && c.ABI != nil {
		return true
	}
	for _, f := range l.Tree.Frames {
		switch {
		case f.To == a && f.HasTo && (len(f.Children) > 0 || len(f.Logs) > 0):
			if !l.lent(a) {
				return false
			}
		}
	}
	return true
}

// lent reports whether an account runs the code of another, which is known.
func (l *inspection) lent(a common.Address) bool {
	return slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool {
		c := l.Contracts[f.To]
		return f.Kind == trace.DelegateCall && f.From == a && c != nil && c.ABI != nil
	})
}

// amplifiers are what made it larger or easier, as far as the evidence shows it.
func (l *inspection) amplifiers(by []verdict.Flag) (out []api.Amplifier) {
	for _, f := range by {
		if l.flagged(f) {
			out = append(out, f.Info().Amplifier)
		}
	}
	for _, f := range l.Tree.Frames {
		if f.Kind.Creates() && l.party(f.From) && f.Status == trace.OK {
			return append(out, "fresh_contract")
		}
	}
	return out
}

// Thresholds of a loss: in USD, and as a part of what the victim held, in percent.
var (
	inUSD  = []int64{1_000_000, 50_000, 1_000}
	inPart = []int64{50, 10}
	ranks  = []api.Severity{api.SeverityCritical, api.SeverityHigh, api.SeverityMedium}
)

// controlSeverity: to have taken control is the worst, whatever was taken with it.
func controlSeverity(l *inspection, b *broken) api.Severity {
	if b.control {
		return api.SeverityCritical
	}
	return lossSeverity(l, b)
}

// lossSeverity follows from what was lost. Assets taken are a limited loss at least,
// unless they are known to be next to nothing.
func lossSeverity(l *inspection, b *broken) api.Severity {
	best, known := api.SeverityLow, len(b.lost) > 0
	raise := func(s api.Severity) {
		if s.Rank() > best.Rank() {
			best = s
		}
	}
	for _, k := range b.lost {
		lost := new(big.Int).Neg(l.net(b.victim, k))
		had := l.holdings(b.victim, k)
		if had != nil && had.Sign() > 0 {
			part := new(big.Int).Quo(new(big.Int).Mul(lost, big.NewInt(100)), had)
			for i, p := range inPart {
				if part.Cmp(big.NewInt(p)) >= 0 {
					raise(ranks[i])
				}
			}
		}
		usd := l.worth(k, lost)
		for i, n := range inUSD {
			if usd != nil && usd.Cmp(big.NewInt(n)) >= 0 {
				raise(ranks[i])
			}
		}
		known = known && usd != nil
	}
	if !known {
		raise(api.SeverityMedium)
	}
	return best
}

// worth is an amount in whole dollars, nil without a price. Where no service gave one a
// stablecoin is taken as a dollar: what is asked for are thresholds, not values.
func (l *inspection) worth(k flow.TokenKey, n *big.Int) *big.Int {
	p, ok := l.Prices[k.Token]
	if _, dollar := label.Stablecoin(l.Chain.ID, k.Token); !ok && dollar {
		p = api.Decimal{Unscaled: big.NewInt(1)}
	} else if !ok {
		return nil
	}
	if p.Unscaled == nil || k.ID != "" {
		return nil
	}
	scale := p.Scale
	switch t := l.Tokens[k.Token]; {
	case k.Token == (common.Address{}):
		scale += 18
	case t.Decimals == nil:
		return nil
	default:
		scale += int(*t.Decimals)
	}
	out := new(big.Int).Mul(n, p.Unscaled)
	return out.Quo(out, api.PowerOfTen(scale))
}

// Items of evidence.

func (l *inspection) seen(f *trace.Frame, form verdict.Form, args ...verdict.Arg) verdict.Evidence {
	e := api.Evidence{Kind: api.Observed, Frame: l.path(f), Source: "trace"}
	if len(f.Input) >= 4 && !f.Kind.Creates() {
		e.Selector = api.Hex(f.Input[:4]).String()
	}
	if f.HasTo {
		a := api.AddrOf(f.To)
		e.Address = &a
	}
	return verdict.Evidence{Facts: e, Claim: verdict.Say(form, args...)}
}

func (l *inspection) paid(p *facts.Move, form verdict.Form, args ...verdict.Arg) verdict.Evidence {
	if p.Log < 0 {
		return l.seen(l.frame(p), form, args...)
	}
	n := l.Receipt.Logs[p.Log].Index
	a := api.AddrOf(p.Token)
	e := api.Evidence{Kind: api.Observed, LogIndex: &n, Address: &a, Source: "receipt", Frame: l.path(l.frame(p))}
	return verdict.Evidence{Facts: e, Claim: verdict.Say(form, args...)}
}

func (l *inspection) stored(a common.Address, slot common.Hash, form verdict.Form, args ...verdict.Arg) verdict.Evidence {
	pre, post, _ := l.slotOf(a, slot)
	x := api.AddrOf(a)
	e := api.Evidence{Kind: api.Observed, Address: &x, Slot: slot.Hex(), Before: pre.Hex(), After: post.Hex(), Source: "state"}
	return verdict.Evidence{Facts: e, Claim: verdict.Say(form, args...)}
}

func (l *inspection) viewed(v View, form verdict.Form, args ...verdict.Arg) verdict.Evidence {
	a := api.AddrOf(v.To)
	e := api.Evidence{Kind: api.Observed, Address: &a, Source: "eth_call"}
	if len(v.Data) >= 4 {
		e.Selector = api.Hex(v.Data[:4]).String()
	}
	return verdict.Evidence{Facts: e, Claim: verdict.Say(form, args...)}
}

// Pieces of checks.

// tokenOf names an asset in a check.
func tokenOf(k flow.TokenKey) string {
	if k == (flow.TokenKey{}) {
		return "native"
	}
	return api.AddrOf(k.Token).String()
}

func ref(name string, args ...any) string {
	parts := make([]string, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case common.Address:
			parts[i] = api.AddrOf(v).String()
		case common.Hash:
			parts[i] = v.Hex()
		case flow.TokenKey:
			parts[i] = tokenOf(v)
		default:
			parts[i] = fmt.Sprint(v)
		}
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// sumOf refers to what an account moved of an asset: of the native coin, the coin and its wrapped
// token, as far as each moved.
func (l *inspection) sumOf(name string, who common.Address, k facts.Key) string {
	assets := l.assets(who, k)
	if len(assets) == 2 {
		return "(" + ref(name, who, assets[0]) + " + " + ref(name, who, assets[1]) + ")"
	}
	return ref(name, who, assets[0])
}

// assets are those in which an account moved an asset: of the native coin, the coin, its wrapped
// token, or both.
func (l *inspection) assets(who common.Address, k facts.Key) (out []facts.Key) {
	for i := range l.moves {
		if m := &l.moves[i]; m.Key == k && (m.From == who || m.To == who) && !slices.Contains(out, m.Asset()) {
			out = append(out, m.Asset())
		}
	}
	if len(out) == 0 {
		return []facts.Key{k}
	}
	slices.SortFunc(out, func(a, b facts.Key) int { return a.Token.Cmp(b.Token) })
	return out
}

// moved refers to the amount of one payment.
func (l *inspection) moved(p *facts.Move) string {
	if p.Log < 0 {
		return ref("value", l.path(l.frame(p)))
	}
	return ref("transfer", l.Receipt.Logs[p.Log].Index)
}

// placeOf says where a payment stands, for a sentence.
func (l *inspection) placeOf(p *facts.Move) verdict.Sentence {
	if p.Log < 0 {
		return verdict.Say(verdict.AtFrame, l.at(l.frame(p)))
	}
	return verdict.Say(verdict.AtLog, verdict.Int(l.Receipt.Logs[p.Log].Index))
}

func (l *inspection) logged(receipt int, form verdict.Form, args ...verdict.Arg) verdict.Evidence {
	g := &l.Receipt.Logs[receipt]
	n, a := g.Index, api.AddrOf(g.Address)
	e := api.Evidence{Kind: api.Observed, LogIndex: &n, Address: &a, Source: "receipt"}
	if f := l.frameOf[receipt]; f != nil {
		e.Frame = l.path(f)
	}
	return verdict.Evidence{Facts: e, Claim: verdict.Say(form, args...)}
}
