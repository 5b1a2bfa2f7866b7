package oracle

import (
	"math/big"
	"regexp"
	"strings"

	"txlens/engine/api"
)

var (
	bothGained = regexp.MustCompile(`both legs (gained|lost) ([\d,.]+)`)
	searcherIn = regexp.MustCompile(`; sandwiched by ([^,;]+)`)
)

// JudgeSandwich compares the trades of a sandwich with what the pool logged in each of its
// transactions, which are found by their hash.
func (p *Report) JudgeSandwich(c *Case, r *api.Result, block map[string]*Case) {
	w := r.Sandwich
	if w == nil {
		return
	}
	j := &judge{c, r, namesOf(r), p, map[Part]bool{}}
	defer j.count()
	var front, back *api.SandwichTrade
	for i := range w.Trades {
		x := &w.Trades[i]
		other := block[x.TxHash]
		if other == nil {
			continue
		}
		j.poolTrade(w.Pool, other, x)
		switch x.Part {
		case api.SandwichFront:
			front = x
			j.hold(Sandwich, i == 0 && other.acts(w.Searcher), "the front leg is %d, searcher %v", i, w.Searcher)
		case api.SandwichBack:
			back = x
			j.hold(Sandwich, i == len(w.Trades)-1 && other.acts(w.Searcher), "the back leg is %d, searcher %v", i, w.Searcher)
		default:
			j.hold(Sandwich, !other.acts(w.Searcher), "victim %s is of the searcher %v", x.TxHash, w.Searcher)
		}
		if x.Self {
			j.legText(x)
		}
	}
	if front != nil && back != nil && front.Given != nil && back.Taken != nil {
		j.profit(front, back)
	}
}

// acts reports whether an account sent the transaction or was called by it.
func (c *Case) acts(a api.Addr) bool { return c.From == a || c.To == a }

// poolTrade: a trade is that of the pool's own log.
func (j *judge) poolTrade(pool api.Addr, c *Case, x *api.SandwichTrade) {
	trades, found := 0, false
	for i := range c.Logs {
		l := &c.Logs[i]
		in, out := poolTrade(l)
		if l.Address != pool || in == nil || x.Given == nil || x.Taken == nil {
			continue
		}
		trades++
		found = found || x.Given.RawAmount == in.String() && x.Taken.RawAmount == out.String()
	}
	if trades > 0 {
		j.hold(Sandwich, found, "%s gave %s for %s in no trade of the pool", x.TxHash, x.Given.RawAmount, x.Taken.RawAmount)
	}
}

// legText: the headline names the leg that it is, and a victim's the searcher.
func (j *judge) legText(x *api.SandwichTrade) {
	s := j.r.Summary
	switch x.Part {
	case api.SandwichVictim:
		m := searcherIn.FindStringSubmatch(s)
		j.hold(Sandwich, m != nil && j.n.same(m[1], j.r.Sandwich.Searcher), "%q: the searcher is %v", s, j.r.Sandwich.Searcher)
	case api.SandwichFront:
		j.hold(Sandwich, !strings.HasPrefix(s, "Back leg") && !searcherIn.MatchString(s), "%q is the front leg", s)
	case api.SandwichBack:
		j.hold(Sandwich, !strings.HasPrefix(s, "Front leg") && !searcherIn.MatchString(s), "%q is the back leg", s)
	}
	if strings.Contains(s, " leg of a sandwich") && x.Given != nil && x.Taken != nil {
		_, trade, _ := strings.Cut(s, ": swapped ")
		before, after, _ := strings.Cut(trade, " for ")
		given, _ := new(big.Int).SetString(x.Given.RawAmount, 10)
		taken, _ := new(big.Int).SetString(x.Taken.RawAmount, 10)
		_, first := tells(before, given, j.decimals(x.Given.TokenAddress))
		_, second := tells(after, taken, j.decimals(x.Taken.TokenAddress))
		j.hold(Sandwich, first && second, "%q: gave %v, took %v", s, given, taken)
	}
}

// profit: both legs together gained what the back leg took beyond what the front leg gave.
func (j *judge) profit(front, back *api.SandwichTrade) {
	m := bothGained.FindStringSubmatch(j.r.Summary)
	if m == nil {
		return
	}
	given, _ := new(big.Int).SetString(front.Given.RawAmount, 10)
	taken, _ := new(big.Int).SetString(back.Taken.RawAmount, 10)
	won := new(big.Int).Sub(taken, given)
	_, ok := tells(m[2], won, j.decimals(front.Given.TokenAddress))
	j.hold(Sandwich, ok && front.Given.TokenAddress == back.Taken.TokenAddress && (m[1] == "gained") == (won.Sign() >= 0),
		"%q: gave %v, took %v", j.r.Summary, given, taken)
}
