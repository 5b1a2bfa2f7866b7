package check

import (
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by the outcome alone: what the cluster paid and was paid does not add up.
var _ = register(&Check{
	order:  390,
	Name:   "unpaid_outcome",
	Title:  "payments that do not add up",
	Causes: []api.Category{api.AccountingError, api.PriceManipulation, api.TokenIncompatibility, api.BusinessLogic, api.InsufficientValidation, api.ShareInflation, api.AccessControl, api.UnknownCause},
	rules: []rule{
		{name: "unbacked_sale", fires: (*inspection).unbackedSale, sentence: render(verdict.CauseUnbackedSale, ofAmount)},
		{name: "emptied_by_custom_mint", fires: (*inspection).mintedSale, sentence: renderMintedSale},
		{name: "abandoned_collateral", fires: (*inspection).abandoned, sentence: render(verdict.CauseAbandonedLoan, ofAmount)},
		{name: "round_trip", fires: (*inspection).roundTrips, sentence: renderRoundTrip},
		{name: "pool_robbed", fires: (*inspection).poolRobbed, sentence: render(verdict.CauseRobbedPool, ofLoss, ofVictim)},
		{name: "in_and_out", fires: (*inspection).inAndOut, sentence: render(verdict.CauseInAndOut, ofFaulty, ofAmount)},
		{name: "deposit_withdraw", fires: (*inspection).depositWithdraw, sentence: render(verdict.CauseInAndOut, ofFaulty, ofAmount)},
		{name: "fresh_unpaid", fires: (*inspection).freshUnpaid, sentence: renderLoss},
		{name: "absurd_return", fires: (*inspection).absurdReturn, sentence: renderLoss},
		{name: "front_runner", fires: (*inspection).frontRunner, sentence: render(verdict.CauseFrontRunner, ofAmount, ofVictim)},
		{name: "flash_unpaid", fires: (*inspection).flashUnpaid, sentence: renderLoss, claims: true},
	},
})

// inAndOut: the cluster put an asset into a contract and after that took more of it out, and
// the contract has nothing else for it.
func (l *inspection) inAndOut() (out []match) {
	if l.oldDebt {
		return nil
	}
	for i := range l.f.LossCandidates {
		v := &l.f.LossCandidates[i]
		if l.Registry.Shared(v.Address) {
			continue
		}
		for _, p := range v.Lost {
			if h, ok := l.tookMore(v.Address, p.Key); ok {
				out = append(out, h)
			}
		}
	}
	return out
}

func (l *inspection) tookMore(v common.Address, k facts.Key) (match, bool) {
	in, back := new(big.Int), new(big.Int)
	first, last := -1, -1
	for i := range l.f.Moves {
		m := &l.f.Moves[i]
		switch {
		case m.Key != k || m.Amount.Sign() == 0:
		case m.To == v && l.f.InAttackerCluster(m.From):
			in.Add(in, m.Amount)
			if first < 0 {
				first = i
			}
		case m.From == v && l.f.InAttackerCluster(m.To) && first >= 0:
			back.Add(back, m.Amount)
			last = i
		}
	}
	if back.Cmp(in) <= 0 {
		return match{}, false
	}
	h := match{
		grade:    suspicious,
		category: api.AccountingError,
		victims:  []common.Address{v},
		moves:    []int{first, last},
		calls:    l.callsOf([]int{first, last}),
		position: facts.Position{Key: k, Amount: back.Sub(back, in)},
	}
	if exceeds(new(big.Int).Add(h.position.Amount, in), in, 102) {
		h.grade = decisive
	}
	return h, true
}

// trading are the beginnings of names of functions that exchange or move assets at once.
var trading = []string{"swap", "exchange", "buy", "sell", "trade", "transfer", "approve", "multicall", "execute", "flash"}

func (l *inspection) calledLike(d int, names []string) bool {
	name := strings.ToLower(l.CallName(l.f.ExternalCalls[d].Frame))
	for _, n := range names {
		if strings.HasPrefix(name, n) {
			return true
		}
	}
	return false
}

// depositWithdraw: the same by a contract that keeps its assets elsewhere: calls to it that
// only give an asset, and later calls to it that only take the same.
func (l *inspection) depositWithdraw() (out []match) {
	if !l.gained || l.oldDebt {
		return nil
	}
	type account struct {
		target common.Address
		key    facts.Key
	}
	type sums struct {
		in, out     *big.Int
		first, last int
	}
	book := map[account]*sums{}
	var order []account
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		if d.Nested || d.Into >= 0 || l.Registry.Shared(d.Target) ||
			evmsig.TokenFunctions[d.Selector] || l.f.Lends(d.Target) || l.calledLike(i, trading) {
			continue
		}
		k, n, ok := l.onlyAsset(i)
		if !ok {
			continue
		}
		acc := account{d.Target, k}
		s := book[acc]
		if s == nil && n.Sign() < 0 {
			s = &sums{new(big.Int), new(big.Int), i, -1}
			book[acc] = s
			order = append(order, acc)
		}
		switch {
		case s == nil:
		case n.Sign() < 0:
			s.in.Sub(s.in, n)
		default:
			s.out.Add(s.out, n)
			s.last = i
		}
	}
	for _, acc := range order {
		if s := book[acc]; exceeds(s.out, s.in, 102) {
			out = append(out, match{grade: decisive, category: api.AccountingError, faulty: acc.target, calls: []int{s.first, s.last},
				position: facts.Position{Key: acc.key, Amount: new(big.Int).Sub(s.out, s.in)}})
		}
	}
	return out
}

// onlyAsset is the one asset that an external call moves, shares of the target and tokens created
// here aside.
func (l *inspection) onlyAsset(call int) (k facts.Key, n *big.Int, ok bool) {
	target := l.f.ExternalCalls[call].Target
	for key, amount := range l.f.Passed(call) {
		if amount.Sign() == 0 || key.Token == target || !l.f.Counts(key) {
			continue
		}
		if ok || !facts.Fungible(key) {
			return k, nil, false
		}
		k, n, ok = key, amount, true
	}
	return k, n, ok
}

// left reports whether liquidity of a pool was taken out by a function for that.
func (l *inspection) left(pool common.Address) bool {
	for i, x := range l.f.Tree.Frames {
		if l.f.Context[i] == pool && l.f.Live(i) && evmsig.LeavePool[evmsig.Called(x.Input)] {
			return true
		}
	}
	return false
}

// poolRobbed: a contract lost two assets or more and has nothing for them, although the
// side had given it something: no exchange and no withdrawal looks so.
func (l *inspection) poolRobbed() (out []match) {
	for i := range l.f.LossCandidates {
		v := &l.f.LossCandidates[i]
		n := 0
		for _, p := range v.Lost {
			if p.Key.Token != v.Address {
				n++
			}
		}
		calls := l.gave(v.Address)
		if n < 2 || len(calls) == 0 || l.left(v.Address) || !l.gained || l.oldDebt {
			continue
		}
		h := match{
			grade:    decisive,
			category: api.AccountingError,
			victims:  []common.Address{v.Address},
			calls:    l.callsOf(l.paidBy(v.Address)),
			position: v.Lost[0],
		}
		if slices.ContainsFunc(l.f.Trades, func(t facts.Trade) bool { return t.Pool == v.Address }) {
			h.category = api.PriceManipulation
		}
		if l.losesOffStack(v.Address) {
			h.category = api.TokenIncompatibility
		}
		out = append(out, h)
	}
	return out
}

// freshUnpaid: an established contract paid one that was created in this transaction and
// so cannot have had a claim, and has nothing for it.
func (l *inspection) freshUnpaid() (out []match) {
	if !l.gained || l.oldDebt {
		return nil
	}
	for i := range l.f.LossCandidates {
		v := l.f.LossCandidates[i].Address
		moves := l.paidBy(v)
		paid := false
		for _, m := range moves {
			paid = paid || l.f.IsFresh(l.f.Moves[m].To)
		}
		if !paid {
			continue
		}
		h := match{
			grade:    suspicious,
			category: api.BusinessLogic,
			victims:  []common.Address{v},
			moves:    moves,
			calls:    l.callsOf(moves),
			position: l.f.LossCandidates[i].Lost[0],
		}
		if l.borrowed || len(l.gave(v)) > 0 || len(l.f.Fresh) > 3 {
			h.grade = decisive
		}
		out = append(out, h)
	}
	return out
}

// flashUnpaid: with borrowed money the cluster gained, and somebody has less for nothing. An
// earlier deposit of the cluster would explain it.
func (l *inspection) flashUnpaid() []match {
	lossCandidates := l.unpaidLossCandidates()
	if !l.borrowed || !l.gained || l.oldDebt || len(lossCandidates) == 0 {
		return nil
	}
	v := lossCandidates[0].Address
	return []match{
		{
			grade:    suspicious,
			category: api.BusinessLogic,
			victims:  []common.Address{v},
			calls:    l.callsOf(l.paidBy(v)),
			position: lossCandidates[0].Lost[0],
		},
	}
}

// absurdReturn: with borrowed money the cluster had more than three times back of what it laid
// out of an asset, loans and repayments aside.
func (l *inspection) absurdReturn() []match {
	if !l.borrowed || len(l.f.Trades) == 0 || l.oldDebt {
		return nil
	}
	other := false
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		other = other || d.Into < 0 && !d.Nested && !evmsig.TokenFunctions[d.Selector] && !l.calledLike(i, trading)
	}
	if !other {
		return nil
	}
	for _, g := range l.f.Gains {
		out, in := new(big.Int), new(big.Int)
		for i := range l.f.Moves {
			m := &l.f.Moves[i]
			switch {
			case m.Key != g.Key || l.f.InAttackerCluster(m.From) == l.f.InAttackerCluster(m.To):
			case l.f.InAttackerCluster(m.To):
				in.Add(in, m.Amount)
			default:
				out.Add(out, m.Amount)
			}
		}
		for i := range l.f.Loans {
			if loan := &l.f.Loans[i]; loan.Key == g.Key {
				in.Sub(in, loan.Amount)
				out.Sub(out, loan.Repaid)
			}
		}
		if out.Sign() > 0 && exceeds(in, out, 300) {
			return []match{{grade: decisive, category: api.BusinessLogic, position: g}}
		}
	}
	return nil
}

// unbackedSale: a contract that was created here sold more of a token than it had ever
// received; what was minted to it for nothing is no receipt.
func (l *inspection) unbackedSale() (out []match) {
	type account struct {
		who common.Address
		key facts.Key
	}
	sold, calls := map[account]*big.Int{}, map[account][]int{}
	var order []account
	for i := range l.f.Trades {
		t := &l.f.Trades[i]
		who := l.callFrame(t.ExternalCall).From
		if !l.f.IsFresh(who) || !l.f.Counts(t.Paid) || t.Paid == (facts.Key{}) {
			continue
		}
		acc := account{who, t.Paid}
		if sold[acc] == nil {
			sold[acc] = new(big.Int)
			order = append(order, acc)
		}
		sold[acc].Add(sold[acc], t.In)
		calls[acc] = append(calls[acc], t.ExternalCall)
	}
	for _, acc := range order {
		had := new(big.Int)
		for i := range l.f.Moves {
			if m := &l.f.Moves[i]; m.Key == acc.key && m.To == acc.who && (m.From != (common.Address{}) || l.paidIn(m.ExternalCall, m.Key)) {
				had.Add(had, m.Amount)
			}
		}
		if new(big.Int).Mul(sold[acc], big.NewInt(1000)).Cmp(new(big.Int).Mul(had, big.NewInt(1001))) > 0 {
			h := match{grade: decisive, category: api.InsufficientValidation, faulty: acc.key.Token, calls: calls[acc],
				position: facts.Position{Key: acc.key, Amount: new(big.Int).Sub(sold[acc], had)}}
			if l.donated() { // a gift made something that the party held pass for much
				h.category = api.ShareInflation
			}
			out = append(out, h)
		}
	}
	return out
}

// paidIn reports whether the cluster gave something else in an external call.
func (l *inspection) paidIn(call int, k facts.Key) bool {
	if call < 0 {
		return false
	}
	for key, n := range l.f.Passed(call) {
		if key != k && n.Sign() < 0 {
			return true
		}
	}
	return false
}

// mintedSale: one trade took most of a pool's reserve, and before it the party called a
// function of the sold token that tokens do not have.
func (l *inspection) mintedSale() (out []match) {
	for i := range l.f.Trades {
		t := &l.f.Trades[i]
		if t.Paid == (facts.Key{}) || !l.f.Counts(t.Paid) || !l.gained || !l.emptied(t) {
			continue
		}
		h := match{
			grade:    suspicious,
			category: api.AccessControl,
			faulty:   t.Paid.Token,
			victims:  []common.Address{t.Pool},
			calls:    []int{t.ExternalCall},
			position: facts.Position{Key: t.Paid, Amount: t.In},
		}
		if custom := l.customCall(t.Paid.Token, t.ExternalCall); custom >= 0 {
			h.grade, h.calls = decisive, []int{custom, t.ExternalCall}
		}
		out = append(out, h)
	}
	return out
}

// renderMintedSale: only a call of a function that mints shows that nothing backed what was
// sold.
func renderMintedSale(t *described) verdict.Sentence {
	if t.grade == decisive {
		return verdict.Say(verdict.CauseUnbackedSale, ofAmount(t))
	}
	return verdict.Say(verdict.CauseMostOfPool, t.victim, ofAmount(t))
}

// customCall is the first external call before another in which the party called a function of a
// token that is no function of tokens, and gave nothing; -1 for none.
func (l *inspection) customCall(token common.Address, before int) int {
	for i := range l.f.ExternalCalls[:before] {
		d := &l.f.ExternalCalls[i]
		if d.Target == token && len(l.callFrame(i).Input) >= 4 && !evmsig.TokenFunctions[d.Selector] && !l.PublishedCall(d.Frame) &&
			len(l.f.Given(i)) == 0 {
			return i
		}
	}
	return -1
}

// emptied reports whether a trade that sold a token took more than 80 % of what the pool said to
// have.
func (l *inspection) emptied(t *facts.Trade) bool {
	got, word := t.Got.Token, 0
	if t.Got == (facts.Key{}) {
		got = l.wrapped()
	}
	if got.Cmp(t.Paid.Token) > 0 {
		word = 1
	}
	end := l.f.End[l.f.ExternalCalls[t.ExternalCall].Frame]
	for i := range end {
		x := l.frame(i)
		if x.To == t.Pool && evmsig.SelGetReserves.Begins(x.Input) {
			if r := evmsig.Uint(x.Output, word); r != nil && exceeds(t.Out, r, 80) && t.Out.Cmp(r) <= 0 {
				return true
			}
		}
	}
	return false
}

// abandoned: with borrowed money the cluster posted one asset, borrowed another against it,
// and left both. Who keeps to the rules does not leave collateral worth more than the loan.
func (l *inspection) abandoned() []match {
	if !l.borrowed || l.oldDebt || !l.f.Free() {
		return nil
	}
	posted := -1
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		given, taken := l.f.Given(i), l.f.Taken(i)
		switch {
		case d.Into >= 0:
		case len(given) > 0 && len(taken) == 0 && !l.calledLike(i, trading):
			posted = i
		case l.f.Borrows(d.Frame) && posted >= 0 && len(given) == 0 && len(taken) > 0:
			for _, m := range d.Moves {
				if v := l.f.Moves[m].From; l.f.Loses(v) != nil {
					return []match{
						{
							grade:    decisive,
							category: api.PriceManipulation,
							victims:  []common.Address{v},
							faulty:   d.Target,
							calls:    []int{posted, i},
							position: taken[0],
						},
					}
				}
			}
		}
	}
	return nil
}

// frontRunner: a contract of the sender's took something for nothing, sold it at once, and
// gave most of the proceeds away, as a tip for who builds the block: a copied attack, or a
// rescue.
func (l *inspection) frontRunner() []match {
	if l.oldDebt || l.f.Entry == (common.Address{}) {
		return nil
	}
	earned, tip := new(big.Int), new(big.Int)
	for i := range l.f.Moves {
		m := &l.f.Moves[i]
		switch {
		case m.Key != (facts.Key{}):
		case l.f.InAttackerCluster(m.To) && !l.f.InAttackerCluster(m.From):
			earned.Add(earned, m.Amount)
		case l.f.InAttackerCluster(m.To) && !l.f.Member(m.To) && m.From != l.f.Tx.From:
			tip.Add(tip, m.Amount)
		}
	}
	if earned.Sign() == 0 || !exceeds(tip, earned, 79) {
		return nil
	}
	for i := range l.f.LossCandidates {
		v := &l.f.LossCandidates[i]
		if !v.Direct || len(l.gave(v.Address)) > 0 || l.left(v.Address) {
			continue
		}
		for j := range l.f.Trades {
			for _, p := range v.Lost {
				if l.f.Trades[j].Paid == p.Key {
					return []match{
						{
							grade:    decisive,
							category: api.UnknownCause,
							victims:  []common.Address{v.Address},
							calls:    append(l.callsOf(l.paidBy(v.Address)), l.f.Trades[j].ExternalCall),
							position: p,
						},
					}
				}
			}
		}
	}
	return nil
}
