package check

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/facts"

	"github.com/ethereum/go-ethereum/common"
)

// Claims of the cluster from before the transaction. They are asked for where somebody paid
// the cluster, nothing in the transaction pays for it, and no rule decides.

// claim is what the state says of earlier claims of the cluster on an account.
type claim uint8

const (
	claimUnknown claim = iota // some answer is missing
	claimFound                // a balance, reward, allowance or right of the cluster explains the payment
	claimNone                 // all answers are there, and none explains it
)

// dropClaimed removes what earlier claims explain from matches of which none decides.
func (l *inspection) dropClaimed() {
	if l.cause() != nil {
		return
	}
	kept := l.matches[:0]
	for _, h := range l.matches {
		if h.rule.claims && len(h.victims) > 0 {
			switch l.claimOn(h.victims[0]) {
			case claimFound:
				continue
			case claimNone:
				h.unclaimed = true
			}
		}
		kept = append(kept, h)
	}
	l.matches = kept
}

// claimOn looks for earlier claims on an account of which it is told that it paid the cluster
// for nothing. Each account is asked for once; one account is enough for the questions.
func (l *inspection) claimOn(v common.Address) claim {
	if c, ok := l.claims[v]; ok {
		return c
	}
	if len(l.claims) == maxClaims {
		return claimUnknown
	}
	l.claims[v] = l.lookUpClaim(v)
	return l.claims[v]
}

// maxClaims bounds the accounts that are asked for earlier claims.
const maxClaims = 1

// lookUpClaim asks what the payee could claim of the account before the transaction. Half of
// what was paid is enough: rewards grow with each block, and rates move.
func (l *inspection) lookUpClaim(v common.Address) claim {
	p := l.firstPayment(v)
	if p == nil {
		return claimUnknown
	}
	who := common.LeftPadBytes(p.To[:], 32)
	known, found := true, false
	ask := func(q Question) (View, bool) {
		q.Asker = "what the sender could claim before the transaction"
		view, ok := l.ask(q)
		known = known && ok
		return view, ok
	}
	enough := func(view View, _ bool) bool {
		n := view.number()
		return n != nil && new(big.Int).Lsh(n, 1).Cmp(p.Amount) >= 0
	}
	for _, sel := range []evmsig.Selector{evmsig.SelEarned, evmsig.SelMaxWithdraw} {
		if enough(ask(Question{To: v, Data: append(sel[:], who...), When: Before})) {
			found = true
		}
	}
	if p.Key != (facts.Key{}) {
		allowance := append(evmsig.SelAllowance[:], common.LeftPadBytes(v[:], 32)...)
		if enough(ask(Question{To: p.Key.Token, Data: append(allowance, who...), When: Before})) {
			found = true
		}
	}
	if gaveShares(v, who, ask) {
		found = true
	}
	if l.ownRight(p, ask) {
		found = true
	}
	switch {
	case found:
		return claimFound
	case known:
		return claimNone
	}
	return claimUnknown
}

// gaveShares reports whether a holder has fewer shares of an account after the transaction
// than before it.
func gaveShares(of common.Address, holder []byte, ask func(Question) (View, bool)) bool {
	balance := Question{To: of, Data: append(evmsig.SelBalanceOf[:], holder...), When: Before}
	had, _ := ask(balance)
	balance.When = After
	has, _ := ask(balance)
	x, y := had.number(), has.number()
	return x != nil && y != nil && x.Cmp(y) > 0
}

// firstPayment is the first direct payment of an account to the cluster; nil for none.
func (l *inspection) firstPayment(v common.Address) *facts.Move {
	for _, i := range l.paidBy(v) {
		return &l.f.Moves[i]
	}
	return nil
}

// ownRight reports whether the caller could have made the call that paid it before the
// transaction, and a stranger could not: then the right to it is older.
func (l *inspection) ownRight(p *facts.Move, ask func(Question) (View, bool)) bool {
	if p.ExternalCall < 0 {
		return false
	}
	x := l.callFrame(p.ExternalCall)
	if len(x.Input) < 4 || !x.Value.IsZero() { // questions carry no coin
		return false
	}
	q := Question{From: x.From, To: x.To, Data: x.Input, When: Before}
	mine, _ := ask(q)
	q.From = stranger
	anybody, known := ask(q)
	return !mine.Reverted && known && anybody.Reverted
}
