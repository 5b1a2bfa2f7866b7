package check

import (
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by answers that changed inside the transaction.
var _ = register(&Check{
	order:  380,
	Name:   "price_jump",
	Title:  "answer of a view that jumped between two calls",
	Causes: []api.Category{api.PriceManipulation, api.ShareInflation},
	rules: []rule{
		{name: "price_jump", fires: (*inspection).priceJump, sentence: render(verdict.CausePriceJump, ofFaulty, ofFirstAnswer, ofSecondAnswer)},
	},
})

// shareRates are the beginnings of names of views that tell what a share is worth.
var shareRates = []string{
	"exchangerate",
	"converttoassets",
	"pricepershare",
	"getpricepershare",
	"getpricepefullshare",
	"getpriceperfullshare",
	"previewredeem",
	"getrate",
	"get_virtual_price",
	"virtualprice",
	"shareprice",
	"tokensperunit",
}

// span is how far the answers of one view lie apart.
type span struct {
	low, high     *big.Int
	lowAt, highAt int
}

// add takes the answer of a frame into the span.
func (s *span) add(n *big.Int, frame int) {
	if n.Cmp(s.low) < 0 {
		s.low, s.lowAt = n, frame
	}
	if n.Cmp(s.high) > 0 {
		s.high, s.highAt = n, frame
	}
}

// wider reports whether a span is wider than another, which may be nil, in proportion.
func (s *span) wider(o *span) bool {
	return o == nil || new(big.Int).Mul(s.high, o.low).Cmp(new(big.Int).Mul(o.high, s.low)) > 0
}

// priceJump: a view that contracts of others asked answered values more than half apart.
func (l *inspection) priceJump() []match {
	if !l.gained || l.oldDebt {
		return nil
	}
	best := l.widestSpan()
	if best == nil {
		return nil
	}
	h := match{
		grade:    suspicious,
		category: api.PriceManipulation,
		faulty:   l.frame(best.highAt).From,
		frames:   []int{min(best.lowAt, best.highAt), max(best.lowAt, best.highAt)},
	}
	for i, f := range h.frames {
		h.values[i] = new(big.Int).SetBytes(l.frame(f).Output)
		if d := l.f.ExternalCallAt(f); d >= 0 {
			h.calls = append(h.calls, d)
		}
	}
	if l.borrowed || len(l.f.Fresh) > 0 || len(l.f.LossCandidates) > 0 {
		h.grade = decisive
	}
	name := strings.ToLower(l.CallName(best.highAt))
	if l.donated() && slices.ContainsFunc(shareRates, func(r string) bool { return strings.HasPrefix(name, r) }) {
		h.category = api.ShareInflation
	}
	return []match{h}
}

// widestSpan is the span of the view whose answers lie farthest apart, of those that are
// more than half apart; nil for none.
func (l *inspection) widestSpan() (best *span) {
	type view struct {
		target common.Address
		input  string
	}
	asked := map[view]*span{}
	for i, x := range l.f.Tree.Frames {
		if !l.asksPrice(i, x) {
			continue
		}
		n := new(big.Int).SetBytes(x.Output)
		if n.Cmp(big.NewInt(1000)) < 0 || n.BitLen() > 200 {
			continue
		}
		v := view{x.To, string(x.Input)}
		s := asked[v]
		if s == nil {
			asked[v] = &span{n, n, i, i}
			continue
		}
		if s.add(n, i); exceeds(s.high, s.low, 150) && s.wider(best) {
			best = s
		}
	}
	return best
}

// asksPrice reports whether a frame is a call between contracts of others that answers one
// number, moves nothing, and is no view that only counts.
func (l *inspection) asksPrice(i int, x *trace.Frame) bool {
	if !l.f.Live(i) || len(x.Output) != 32 || len(x.Input) < 4 || len(x.Input) > 4+8*32 || len(x.Logs) > 0 ||
		evmsig.CountingViews[evmsig.Called(x.Input)] || l.f.Member(x.From) || l.f.Member(x.To) {
		return false
	}
	return x.Kind == trace.StaticCall || x.Kind == trace.Call && x.Value.IsZero() && l.f.Before(i) == l.f.After(i)
}

// donated reports whether the party sent tokens to a contract that no external call took for a
// payment.
func (l *inspection) donated() bool {
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		if d.Selector == evmsig.SelTransfer && d.Into < 0 && len(l.f.Given(i)) > 0 {
			return true
		}
	}
	return false
}
