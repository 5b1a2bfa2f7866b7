package oracle

import (
	"math/big"
	"regexp"
	"slices"
	"strings"

	"txlens/engine/api"
)

const (
	swapV2 = "Swap(address,uint256,uint256,uint256,uint256,address)"
	swapV3 = "Swap(address,address,int256,int256,uint160,uint128,int24)"
)

// poolTrade is what a pool of Uniswap's second or third version says that it took and gave.
func poolTrade(l *Log) (in, out *big.Int) {
	switch {
	case l.is(swapV2, 2):
		in0, in1, out0, out1 := l.word(0), l.word(1), l.word(2), l.word(3)
		switch {
		case in1.Sign() == 0 && out0.Sign() == 0:
			return in0, out1
		case in0.Sign() == 0 && out1.Sign() == 0:
			return in1, out0
		}
	case l.is(swapV3, 2):
		a, b := l.signed(0), l.signed(1)
		switch {
		case a.Sign() > 0 && b.Sign() < 0:
			return a, b.Neg(b)
		case b.Sign() > 0 && a.Sign() < 0:
			return b, a.Neg(a)
		}
	}
	return nil, nil
}

// swap: the pool took what it says that it took, and gave what it says that it gave.
func (j *judge) swap(s *api.StepDetail) {
	if len(s.Amounts) != 2 {
		return
	}
	given, taken := s.Amounts[0], s.Amounts[1]
	j.hold(Loan, given.TokenAddress != taken.TokenAddress || given.TokenID != nil, "%q: one asset for itself", s.Text)
	l := j.logOf(s, func(l *Log) bool { return l.is(swapV2, 2) || l.is(swapV3, 2) })
	if l == nil {
		return
	}
	in, out := poolTrade(l)
	if in == nil || in.Sign() == 0 {
		return
	}
	j.hold(Swap, s.Actor != nil && *s.Actor == l.Address, "%q: the pool is %v", s.Text, l.Address)
	at := slices.IndexFunc(j.took(l.Address, given.TokenAddress, in), func(n *big.Int) bool { return n.String() == given.RawAmount })
	j.hold(Swap, at >= 0 && taken.RawAmount == out.String(), "%q: took %v, gave %v", s.Text, in, out)
	if in.Cmp(out) != 0 {
		j.hold(Swap, j.moved(given.TokenAddress, in, func(m movement) bool { return m.to == l.Address && m.from != l.Address }),
			"%q: it took another token", s.Text)
		j.hold(Swap, j.moved(taken.TokenAddress, out, func(m movement) bool { return m.from == l.Address && m.to != l.Address }),
			"%q: it gave another token", s.Text)
	}
	if at > 0 {
		in = j.took(l.Address, given.TokenAddress, in)[at]
	}
	before, after, _ := strings.Cut(s.Text, " into ")
	_, first := tells(before, in, decimalsOf(j.r, given.TokenAddress))
	_, second := tells(after, out, decimalsOf(j.r, taken.TokenAddress))
	j.hold(Swap, first && second, "%q: %v into %v", s.Text, in, out)
}

// took are the amounts that may be told of what a pool took: what it says, what arrived there,
// and what of that it did not pass on. They differ where a token or a pool takes a fee, by less
// than a tenth.
func (j *judge) took(pool, token api.Addr, in *big.Int) []*big.Int {
	arrived, kept := new(big.Int), new(big.Int)
	for _, m := range j.movements() {
		if m.token == token && m.to == pool {
			arrived.Add(arrived, m.amount)
			kept.Add(kept, m.amount)
		}
		if m.token == token && m.from == pool {
			kept.Sub(kept, m.amount)
		}
	}
	list := []*big.Int{in}
	for _, n := range []*big.Int{arrived, kept} {
		diff := new(big.Int).Sub(n, in)
		if diff.Abs(diff).Mul(diff, big.NewInt(10)).Cmp(in) <= 0 {
			list = append(list, n)
		}
	}
	return list
}

// moved reports whether a movement of just this amount was of the token, where it was of one
// token alone.
func (j *judge) moved(token api.Addr, amount *big.Int, there func(movement) bool) bool {
	tokens := map[api.Addr]bool{}
	for _, m := range j.movements() {
		if there(m) && m.amount.Cmp(amount) == 0 {
			tokens[m.token] = true
		}
	}
	return len(tokens) != 1 || tokens[token]
}

var swapped = regexp.MustCompile(`^Swapped (.+?) for (\S+ .+?)(?: (?:on|through) [^,;]+)?(?:, paid to ([^,;]+))?(?:, (?:for|by signed authorization of) (?:smart account |Safe |account )?([^,;]+))?$`)

// trade: who gave one asset and got another sold the one and bought the other.
func (j *judge) trade() {
	m := swapped.FindStringSubmatch(j.r.Summary)
	if m == nil || strings.Contains(j.r.Summary, ", by ") {
		return
	}
	trader := j.From
	if m[4] != "" {
		if trader = j.named(m[4]); trader == (api.Addr{}) {
			return
		}
	}
	var sold, bought []api.Addr
	net := j.net(trader)
	for token, n := range net {
		if n.Sign() < 0 {
			sold = append(sold, token)
		} else {
			bought = append(bought, token)
		}
	}
	if len(sold) != 1 || len(bought) > 1 {
		return
	}
	_, ok := tells(m[1], net[sold[0]], j.decimals(sold[0]))
	j.hold(Trade, ok, "%q: %v gave %v of %v", j.r.Summary, trader, net[sold[0]], sold[0])
	if len(bought) == 1 && m[3] == "" {
		_, ok := tells(m[2], net[bought[0]], j.decimals(bought[0]))
		j.hold(Trade, ok, "%q: %v got %v of %v", j.r.Summary, trader, net[bought[0]], bought[0])
	}
	if m[3] != "" {
		j.paidTo(m)
	}
}

// paidTo: the account that a trade was paid to got what was bought.
func (j *judge) paidTo(m []string) {
	who := j.named(m[3])
	if who == (api.Addr{}) {
		return
	}
	got := false
	for token, n := range j.net(who) {
		_, ok := tells(m[2], n, j.decimals(token))
		got = got || ok && n.Sign() > 0
	}
	j.hold(Trade, got, "%q: %v got %v", j.r.Summary, who, j.net(who))
}

func (j *judge) decimals(token api.Addr) string {
	if d := decimalsOf(j.r, token); d != "" {
		return d
	}
	return j.symbolDecimals(token)
}

// named is the only account of the transaction that a text names, or none.
func (j *judge) named(text string) (a api.Addr) {
	accounts := []api.Addr{j.From, j.To}
	for _, m := range j.movements() {
		accounts = append(accounts, m.from, m.to)
	}
	for _, p := range j.payments {
		accounts = append(accounts, p.from, p.to)
	}
	for _, x := range accounts {
		if x == a || !j.n.same(text, x) {
			continue
		}
		if a != (api.Addr{}) {
			return api.Addr{}
		}
		a = x
	}
	return a
}

// lent are events of what is lent, for good or for the transaction: such a receipt with no
// trade among its logs is of no swap.
var lent = []string{
	topic("Borrow(address,address,address,uint256,uint256,uint256,uint16)"),
	topic("Borrow(address,address,address,uint256,uint8,uint256,uint16)"),
	topic("Borrow(address,uint256,uint256,uint256)"),
	topic("Borrow(bytes32,address,address,address,uint256,uint256)"),
	topic("FlashLoan(address,address,uint256,uint256)"),
	topic("FlashLoan(address,address,address,uint256,uint256,uint16)"),
	topic("FlashLoan(address,address,address,uint256,uint8,uint256,uint16)"),
	topic("FlashLoan(address,address,uint256)"),
	topic("Flash(address,address,uint256,uint256,uint256,uint256)"),
}

// loans: a receipt with a loan and no trade is of no swap, and a loan within the transaction
// that a step tells of was made and came back.
func (j *judge) loans() {
	borrowed, traded := false, false
	for i := range j.Logs {
		if l := &j.Logs[i]; len(l.Topics) > 0 {
			borrowed = borrowed || slices.Contains(lent, l.Topics[0])
			traded = traded || l.is(swapV2, 2) || l.is(swapV3, 2)
		}
	}
	if borrowed && !traded && j.r.TxType != nil {
		j.hold(Loan, *j.r.TxType != api.TypeSwap || j.r.SubType != "", "%q is no swap", j.r.Summary)
	}
	for i := range j.Logs {
		if l := &j.Logs[i]; l.is("FlashLoan(address,address,uint256,uint256)", 2) { // Balancer's vault: borrower, token
			j.lentStep(l.Address, address(l.Topics[1]), address(l.Topics[2]), l.word(0))
		}
	}
	for i := range j.r.StepsDetail {
		if s := &j.r.StepsDetail[i]; s.Kind == "flash_loan" && len(s.Amounts) == 1 {
			j.flashLoan(s)
		}
	}
}

// lentStep: a loan that an event reports and that came back is a step of the lender.
func (j *judge) lentStep(lender, borrower, token api.Addr, amount *big.Int) {
	for i := range j.r.StepsDetail {
		s := &j.r.StepsDetail[i]
		if s.Kind != "flash_loan" || s.Actor == nil || *s.Actor != lender || len(s.Amounts) != 1 || s.Amounts[0].TokenAddress != token {
			continue
		}
		_, to, _ := strings.Cut(s.Text, " to ")
		who, _, _ := strings.Cut(to, " for the length")
		j.hold(Loan, s.Amounts[0].RawAmount == amount.String() && j.n.same(who, borrower),
			"%q: %v lent %v to %v", s.Text, lender, amount, borrower)
		return
	}
	j.hold(Loan, false, "no step tells that %v lent %v of %v to %v", lender, amount, token, borrower)
}

func (j *judge) flashLoan(s *api.StepDetail) {
	a := s.Amounts[0]
	var out, back bool
	for _, m := range j.movements() {
		out = out || s.Actor != nil && m.token == a.TokenAddress && m.from == *s.Actor && m.amount.String() == a.RawAmount
		n, _ := new(big.Int).SetString(a.RawAmount, 10)
		back = back || out && m.token == a.TokenAddress && m.to == *s.Actor && m.amount.Cmp(n) >= 0
	}
	if a.TokenAddress != (api.Addr{}) {
		j.hold(Loan, out && back, "%q: lent %v, returned %v", s.Text, out, back)
	}
}

var gaining = regexp.MustCompile(`, gaining (.+?)(?: for ([^,;]+?))?(?: before the fee)?(?:,|$)`)

// gain: who is said to have gained by an arbitrage has that much more.
func (j *judge) gain() {
	m := gaining.FindStringSubmatch(j.r.Summary)
	if m == nil {
		return
	}
	who := j.From
	if m[2] != "" {
		if who = j.named(m[2]); who == (api.Addr{}) {
			return
		}
	}
	for token, n := range j.net(who) {
		if _, ok := tells(m[1], n, j.decimals(token)); ok && n.Sign() > 0 {
			j.hold(Gain, true, "")
			return
		}
	}
	j.hold(Gain, false, "%q: %v has %v", j.r.Summary, who, j.net(who))
}
