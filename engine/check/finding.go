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
	victims  []common.Address // of which the first is named
	faulty   common.Address   // whose rule it is; zero: the first victim's
	lost     []facts.Key      // by the first victim, to the party
	takers   []common.Address // who has what was lost, where that is not the party
	control  bool             // of the victim was taken
	outcome  bool             // a rule decides by what moved: a theft, probable at least
	proves   bool             // with outcome: what broke is shown, and not only what moved
	sentence verdict.Sentence
	check    string
	evidence []verdict.Evidence
	missing  []verdict.Sentence // what would have to be known; keeps the status at possible
}

// find weighs what broke. It is the one place where findings are made.
func (l *inspection) find(b broken) verdict.Finding {
	out := verdict.Finding{Invariant: b.sentence, Evidence: b.evidence, Missing: b.missing, Facts: api.Finding{
		Category: b.category, Attacker: l.attackers(&b), Check: b.check, Severity: l.severity(&b), Amplifiers: l.amplifiers(),
	}}
	f := &out.Facts
	for _, v := range b.victims {
		f.Victim = append(f.Victim, api.AddrOf(v))
	}
	faulty := api.AddrOf(b.victims[0])
	if b.faulty != (common.Address{}) {
		faulty = api.AddrOf(b.faulty)
	}
	f.FaultyContract = &faulty
	f.Status, f.Confidence = l.certainty(&b)
	if !l.full() {
		out.Missing = append(out.Missing, verdict.Say(verdict.MissingTrace))
	}
	if !l.sourced(b.victims[0]) {
		out.Missing = append(out.Missing, verdict.Say(verdict.MissingSource, verdict.Address(b.victims[0])))
	}
	return out
}

// certainty is how sure it is that a rule did not hold, and how much of what would show it is
// known.
func (l *inspection) certainty(b *broken) (api.FindingStatus, api.Confidence) {
	status, confidence := api.Confirmed, api.High
	derived := slices.ContainsFunc(b.evidence, func(e verdict.Evidence) bool { return e.Facts.Kind != api.Observed })
	switch {
	case len(b.missing) > 0 || b.check == "":
		status, confidence = api.Possible, api.Low
	case derived || !l.full():
		status = api.Probable
	}
	switch {
	case !l.sourced(b.victims[0]):
		confidence = api.Low
	case !l.full():
		confidence = confidence.Lower(api.Medium)
	}
	if b.outcome && (status == api.Possible || !b.proves) { // the loss is shown, the cause follows from structure
		status, confidence = api.Probable, confidence.Lower(api.Medium)
	}
	return status, confidence
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
		case f.To == a && f.HasTo && (len(f.Children) > 0 || f.Logged()):
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

// Thresholds of a loss: in USD, and as a part of what the victim held, in percent.
var (
	inUSD  = []int64{1_000_000, 50_000, 1_000}
	inPart = []int64{50, 10}
	ranks  = []api.Severity{api.SeverityCritical, api.SeverityHigh, api.SeverityMedium}
)

// SeverityOfLoss is that of a loss of so many dollars.
func SeverityOfLoss(usd *big.Int) api.Severity {
	for i, n := range inUSD {
		if usd.Cmp(big.NewInt(n)) >= 0 {
			return ranks[i]
		}
	}
	return api.SeverityLow
}

// severity follows from what was done and from what was lost: as a part of what the first victim
// held and in USD. To have taken control is the worst, whatever was taken with it. A theft, and a
// loss of which the value is not known, is a limited loss at least.
func (l *inspection) severity(b *broken) api.Severity {
	if b.control {
		return api.SeverityCritical
	}
	best, known := api.SeverityLow, len(b.lost) > 0
	raise := func(s api.Severity) {
		if s.Rank() > best.Rank() {
			best = s
		}
	}
	for _, k := range b.lost {
		lost := new(big.Int).Neg(l.net(b.victims[0], k))
		if had := l.holdings(b.victims[0], k); had != nil && had.Sign() > 0 {
			part := new(big.Int).Quo(new(big.Int).Mul(lost, big.NewInt(100)), had)
			for i, p := range inPart {
				if part.Cmp(big.NewInt(p)) >= 0 {
					raise(ranks[i])
				}
			}
		}
		known = known && l.worth(k, lost) != nil
	}
	lists := [][]facts.Position{l.lost(b.victims)}
	if b.outcome {
		lists = append(lists, l.f.Gains) // the movements may show the gain alone
	}
	for _, list := range lists {
		sum := new(big.Int)
		for _, p := range list {
			if usd := l.worth(p.Key, p.Amount); usd != nil {
				sum.Add(sum, usd)
			}
		}
		raise(SeverityOfLoss(sum))
	}
	if !known || b.outcome {
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
		return l.seen(l.frameOf(p), form, args...)
	}
	n := l.Receipt.Logs[p.Log].Index
	a := api.AddrOf(p.Token)
	e := api.Evidence{Kind: api.Observed, LogIndex: &n, Address: &a, Source: "receipt"}
	if f := l.logFrame[p.Log]; f != nil { // nil: the trace has no logs
		e.Frame = l.path(f)
	}
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
		return ref("value", l.path(l.frameOf(p)))
	}
	return ref("transfer", l.Receipt.Logs[p.Log].Index)
}

// placeOf says where a payment stands, for a sentence.
func (l *inspection) placeOf(p *facts.Move) verdict.Sentence {
	if p.Log < 0 {
		return verdict.Say(verdict.AtFrame, l.at(l.frameOf(p)))
	}
	return verdict.Say(verdict.AtLog, verdict.Int(l.Receipt.Logs[p.Log].Index))
}

func (l *inspection) logged(receipt int, form verdict.Form, args ...verdict.Arg) verdict.Evidence {
	g := &l.Receipt.Logs[receipt]
	n, a := g.Index, api.AddrOf(g.Address)
	e := api.Evidence{Kind: api.Observed, LogIndex: &n, Address: &a, Source: "receipt"}
	if f := l.logFrame[receipt]; f != nil {
		e.Frame = l.path(f)
	}
	return verdict.Evidence{Facts: e, Claim: verdict.Say(form, args...)}
}
