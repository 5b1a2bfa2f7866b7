package check

import (
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
)

// reading is a rate that a contract asked another for before it paid.
type reading struct {
	frame  *trace.Frame // the call that asks
	outer  *trace.Frame // the call of the party to the reader
	reader common.Address
	source common.Address
	paid   *facts.Move // by the reader to the party, after it
}

var (

	// noRates are views that say nothing of a price.
	noRates = map[[4]byte]bool{
		evmsig.SelAllowance: true, evmsig.SelDecimals: true, evmsig.SelSymbol: true, evmsig.SelName: true,
		evmsig.SelOwner: true, evmsig.SelToken0: true, evmsig.SelToken1: true, evmsig.SelNonces: true,
		evmsig.SelSupportsERC: true, evmsig.SelValidERC1271: true, evmsig.SelAsset: true,
	}
)

// maxReadings bounds how many rates are looked into.
const maxReadings = 4

// readings lists the rates that were asked for by contracts that then paid the sender's
// side, in calls made by it.
func (l *inspection) readings() (out []reading) {
	payers := map[common.Address][]flow.TokenKey{}
	for _, s := range l.Tree.Frames {
		if s.Kind != trace.StaticCall || s.Status != trace.OK || len(s.Output) < 32 || l.party(s.From) || l.party(s.To) || s.From == s.To ||
			noRates[evmsig.Called(s.Input)] ||
			len(s.Input) < 4 {
			continue
		}
		if evmsig.Called(s.Input) == evmsig.SelBalanceOf && len(s.Input) >= 36 {
			// A contract that looks at its own balance, or at a trader's, asks for no rate.
			if a := common.BytesToAddress(s.Input[16:36]); a == s.From || l.party(a) {
				continue
			}
		}
		keys, known := payers[s.From]
		if !known {
			keys = l.losses(s.From)
			payers[s.From] = keys
		}
		outer := l.reached(s, s.From)
		if len(keys) == 0 || outer == nil {
			continue
		}
		if p := l.firstPay(s, outer, keys); p != nil && len(out) < 64 {
			out = append(out, reading{s, outer, s.From, s.To, p})
		}
	}
	return out
}

// firstPay is the first payment of the reader after it has read.
func (l *inspection) firstPay(s, outer *trace.Frame, keys []flow.TokenKey) *facts.Move {
	for i := range l.moves {
		p := &l.moves[i]
		if p.From != s.From || !l.party(p.To) || p.Frame < s.Index || !l.inside(p, outer) || p.Amount.Sign() == 0 {
			continue
		}
		for _, k := range keys {
			if k == p.Key {
				return p
			}
		}
	}
	return nil
}

// rates looks for contracts that paid by a rate which the party had moved: in
// the middle of a call of its source that was not over (read-only re-entrancy), or by a
// trade before.
func (l *inspection) rates() (out []verdict.Finding) {
	done := map[common.Address]bool{}
	looked := 0
	for _, r := range l.readings() {
		if done[r.reader] || looked == maxReadings {
			continue
		}
		open := l.unfinished(r)
		if open == nil && !l.touchedBefore(r) {
			continue
		}
		looked++
		var f verdict.Finding
		var ok bool
		if open != nil {
			f, ok = l.readInside(r, open)
		} else {
			f, ok = l.readMoved(r)
		}
		if ok {
			done[r.reader] = true
			out = append(out, f)
		}
	}
	return out
}

// unfinished is the call of the source that encloses the reading and goes on to change
// things after it; nil when there is none.
func (l *inspection) unfinished(r reading) *trace.Frame {
	for f := r.outer.Parent; f != nil; f = f.Parent {
		if f.To != r.source || f.Kind != trace.Call || f.Status != trace.OK {
			continue
		}
		for i := range l.moves {
			p := &l.moves[i]
			if p.From == r.source && p.Frame > r.frame.Index && l.inside(p, f) && !l.inside(p, r.outer) {
				return f
			}
		}
		if len(l.changed(r.source)) > 0 {
			return f
		}
	}
	return nil
}

// touchedBefore reports whether the party traded with the source of a rate, or
// gave it something, earlier in the transaction.
func (l *inspection) touchedBefore(r reading) bool {
	for _, f := range l.Tree.Frames[:r.frame.Index] {
		if f.Kind == trace.Call && f.Status == trace.OK && f.To == r.source && l.party(f.From) && (f.Logged() || len(f.Children) > 0) {
			return true
		}
	}
	for i := range l.moves {
		if p := &l.moves[i]; p.To == r.source && l.party(p.From) && p.Frame < r.frame.Index {
			return true
		}
	}
	return false
}

// apart is how far a rate must be from what it is at rest to count as moved: 5 %.
const apart = 5

// further reports whether a is beyond b by more than 5 %, up or down.
func further(a, b *big.Int) bool {
	if a.Sign() <= 0 || b.Sign() <= 0 {
		return false
	}
	hi, lo := a, b
	if hi.Cmp(lo) < 0 {
		hi, lo = lo, hi
	}
	return new(big.Int).Mul(hi, big.NewInt(100)).Cmp(new(big.Int).Mul(lo, big.NewInt(100+apart))) > 0
}

// readInside: read-only re-entrancy. The rate is compared with what the same question
// gets before and after the transaction: it must be off from both.
func (l *inspection) readInside(r reading, open *trace.Frame) (verdict.Finding, bool) {
	before, _ := l.ask(Question{To: r.source, Data: r.frame.Input, When: Before, Asker: "a rate at rest"})
	after, _ := l.ask(Question{To: r.source, Data: r.frame.Input, When: After, Asker: "a rate at rest"})
	read := evmsig.Uint(r.frame.Output, 0)
	if evmsig.Called(r.frame.Input) == evmsig.SelBalanceOf {
		return verdict.Finding{}, false
	}
	was, is := before.number(), after.number()
	if was == nil || is == nil || !further(read, was) || !further(read, is) || l.covered(r, is) {
		return verdict.Finding{}, false
	}
	p := l.path(r.frame)
	over, at := ">", new(big.Int).Set(is)
	if read.Cmp(is) < 0 {
		over = "<"
	}
	b := broken{category: api.Reentrancy, victims: []common.Address{r.reader}, lost: l.losses(r.reader),
		check: fmt.Sprintf("%s * 100 %s %s * %d", ref("output", p, 0), over, at, factor(over)),
		evidence: []verdict.Evidence{
			l.seen(open, verdict.CallIsRunning, verdict.Who(r.source)),
			l.seen(r.frame, verdict.AsksRateInside, verdict.Who(r.reader), verdict.Who(r.source), verdict.Num(read)),
			l.viewed(before, verdict.AnswerBefore, verdict.Num(was)),
			l.viewed(after, verdict.AnswerAfter, verdict.Num(is)),
			l.paid(r.paid, verdict.PaysByRate, verdict.Who(r.reader), amountOf(r.paid)),
		},
		sentence: verdict.Say(
			verdict.PaidByUnfinishedRate,
			verdict.Who(r.reader),
			verdict.Who(r.source),
			verdict.Path(p),
			l.at(open),
			verdict.Num(read),
			verdict.Num(is),
			amountOf(r.paid),
			l.placeOf(r.paid),
		)}
	return l.find(b), true
}

// covered reports whether what a reader paid is worth no more, at the right rate, than the
// shares of the source that it got in the same transaction: the rate was off and nothing
// was lost by it. Only units of the same size can be compared, and a rate with 18 decimals
// that is near one.
func (l *inspection) covered(r reading, rate *big.Int) bool {
	shares := flow.TokenKey{Token: r.source}
	a, b := l.Tokens[r.source].Decimals, l.Tokens[r.paid.Token].Decimals
	got, gave := l.net(r.reader, shares), new(big.Int).Neg(l.net(r.reader, r.paid.Key))
	ether := big.NewInt(params.Ether)
	if a == nil || b == nil || *a != *b || got.Sign() <= 0 || rate.BitLen() < ether.BitLen()-6 || rate.BitLen() > ether.BitLen()+6 {
		return false
	}
	worth := new(big.Int).Mul(got, rate)
	return worth.Quo(worth, ether).Cmp(gave) >= 0
}

func factor(over string) int {
	if over == ">" {
		return 100 + apart
	}
	return 100 - apart
}

// readMoved: the reader was told a price that a trade of the party had moved.
func (l *inspection) readMoved(r reading) (verdict.Finding, bool) {
	if evmsig.Called(r.frame.Input) == evmsig.SelGetReserves {
		return l.readReserves(r)
	}
	if evmsig.Called(r.frame.Input) == evmsig.SelBalanceOf {
		return verdict.Finding{}, false // of some account: whose price that makes is not told
	}
	before, _ := l.ask(Question{To: r.source, Data: r.frame.Input, When: Before, Asker: "a rate at rest"})
	read := evmsig.Uint(r.frame.Output, 0)
	was := before.number()
	if was == nil || !further(read, was) || !l.onlyGains() {
		return verdict.Finding{}, false
	}
	over := ">"
	if read.Cmp(was) < 0 {
		over = "<"
	}
	p := l.path(r.frame)
	return l.find(broken{category: api.PriceManipulation, victims: []common.Address{r.reader}, lost: l.losses(r.reader),
		check: fmt.Sprintf("%s * 100 %s %s * %d", ref("output", p, 0), over, was, factor(over)),
		evidence: []verdict.Evidence{
			l.seen(r.frame, verdict.AsksRate, verdict.Who(r.reader), verdict.Who(r.source), verdict.Num(read)),
			l.viewed(before, verdict.AnswerBefore, verdict.Num(was)),
			l.paid(r.paid, verdict.PaysByRate, verdict.Who(r.reader), amountOf(r.paid)),
		},
		sentence: verdict.Say(
			verdict.PaidByMovedRate,
			verdict.Who(r.reader),
			verdict.Path(p),
			verdict.Num(read),
			verdict.Who(r.source),
			verdict.Num(was),
			amountOf(r.paid),
			l.placeOf(r.paid),
		)}), true
}

// onlyGains reports whether the party ends with more of something and with less
// of nothing, fees aside.
func (l *inspection) onlyGains() bool {
	seen, gained := map[flow.TokenKey]bool{}, false
	for i := range l.moves {
		k := l.moves[i].Key
		if seen[k] {
			continue
		}
		seen[k] = true
		switch n := l.gain(k).Sign(); {
		case n < 0:
			return false
		case n > 0:
			gained = true
		}
	}
	return gained
}

// reservesSlot is where a Uniswap v2 pair keeps both reserves, 112 bits each.
var reservesSlot = common.BigToHash(big.NewInt(8))

// readReserves: of a pair both reserves before the transaction are known from its
// storage, or from the first trade, so that what the reader got can be valued at the
// price of then.
func (l *inspection) readReserves(r reading) (verdict.Finding, bool) {
	pre, _, ok := l.slotOf(r.source, reservesSlot)
	t0, t1 := l.pairTokens(r.source)
	if !ok || t0 == (common.Address{}) || t1 == (common.Address{}) {
		return verdict.Finding{}, false
	}
	packed := pre.Big()
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 112), big.NewInt(1))
	was := [2]*big.Int{new(big.Int).And(packed, mask), new(big.Int).And(new(big.Int).Rsh(packed, 112), mask)}
	now := [2]*big.Int{evmsig.Uint(r.frame.Output, 0), evmsig.Uint(r.frame.Output, 1)}
	if now[0] == nil || now[1] == nil || now[0].Sign() == 0 || was[0].Sign() == 0 ||
		!further(new(big.Int).Mul(now[1], was[0]), new(big.Int).Mul(was[1], now[0])) {
		return verdict.Finding{}, false
	}
	out := r.paid.Token
	side := 0
	in := t1
	if out == t1 {
		side, in = 1, t0
	} else if out != t0 {
		return l.movedElsewhere(r)
	}
	gave := new(big.Int).Neg(l.net(r.reader, r.paid.Key))
	got := l.net(r.reader, l.f.KeyOf(in))
	// Worth, at the price before, of what it gave against what it got.
	worthOut := new(big.Int).Mul(gave, was[1-side])
	worthIn := new(big.Int).Mul(new(big.Int).Set(got), was[side])
	if got.Sign() < 0 || worthOut.Cmp(worthIn) <= 0 {
		return verdict.Finding{}, false
	}
	bits := func(i int) string {
		return fmt.Sprintf("bits(%s, %d, 112)", ref("before", r.source, reservesSlot), 112*i)
	}
	return l.find(broken{category: api.PriceManipulation, victims: []common.Address{r.reader}, lost: l.losses(r.reader),
		check: fmt.Sprintf("(0 - %s) * %s > %s * %s", l.sumOf("net", r.reader, r.paid.Key), bits(1-side), l.sumOf("net", r.reader, l.f.KeyOf(in)), bits(side)),
		evidence: []verdict.Evidence{
			l.stored(r.source, reservesSlot, verdict.ReservesBefore, verdict.Num(was[0]), verdict.Num(was[1])),
			l.seen(r.frame, verdict.ReadsReserves, verdict.Who(r.reader), verdict.Who(r.source), verdict.Num(now[0]), verdict.Num(now[1])),
			l.paid(r.paid, verdict.PaysByPrice, verdict.Who(r.reader), amountOf(r.paid)),
		},
		sentence: verdict.Say(
			verdict.PaidByMovedReserves,
			verdict.Who(r.reader),
			l.at(r.frame),
			verdict.Num(now[0]),
			verdict.Num(now[1]),
			verdict.Who(r.source),
			verdict.Num(was[0]),
			verdict.Num(was[1]),
			amount(r.paid.Key, gave),
			l.placeOf(r.paid),
		)}), true
}

// movedElsewhere: the reader paid in something that the pair does not trade; that it
// lost is only sure when the party gave nothing for it in the end.
func (l *inspection) movedElsewhere(r reading) (verdict.Finding, bool) {
	if !l.onlyGains() {
		return verdict.Finding{}, false
	}
	return l.find(broken{category: api.PriceManipulation, victims: []common.Address{r.reader}, lost: l.losses(r.reader),
		missing: []verdict.Sentence{verdict.Say(verdict.MissingWorthInPair)},
		evidence: []verdict.Evidence{
			l.seen(r.frame, verdict.ReadsMovedReserves, verdict.Who(r.reader), verdict.Who(r.source)),
			l.paid(r.paid, verdict.Pays, verdict.Who(r.reader), amountOf(r.paid)),
		},
		sentence: verdict.Say(
			verdict.PaidByMovedSpotPrice,
			verdict.Who(r.reader),
			l.at(r.frame),
			verdict.Who(r.source),
			amountOf(r.paid),
			l.placeOf(r.paid),
		)}), true
}

// pairTokens are the two tokens that a pair traded, in the order of their addresses, as
// Uniswap v2 sorts them.
func (l *inspection) pairTokens(pair common.Address) (t0, t1 common.Address) {
	var list []common.Address
	for i := range l.moves {
		p := &l.moves[i]
		if p.From != pair && p.To != pair || p.Token == pair || p.Token == (common.Address{}) || p.Key.NFT || p.Key.ID != "" {
			continue
		}
		known := false
		for _, t := range list {
			known = known || t == p.Token
		}
		if !known {
			list = append(list, p.Token)
		}
	}
	if len(list) != 2 {
		return
	}
	if list[0].Cmp(list[1]) > 0 {
		list[0], list[1] = list[1], list[0]
	}
	return list[0], list[1]
}
