package check

import (
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules that begin with the outcome: an account outside the attacker cluster has less, the cluster
// has more, and the transaction shows nothing that was given for it. What broke is named
// only then, from the structure of the calls.

// grade is what a rule that fires decides.
type grade uint8

const (
	suspicious grade = iota + 1 // unusual; an honest explanation outside of the transaction may exist
	decisive                    // an exploit by itself
)

// rule is one pattern. Its place among the rules of all checks is its rank as a cause: the
// first that fires names the cause of all.
type rule struct {
	name         string
	fires        func(*inspection) []match
	sentence     func(*described) verdict.Sentence // what happened where it fires
	proves       bool                              // the calls that it finds show the cause, not only the outcome
	alone        bool                              // it also looks at senders without contracts of their own
	owners       bool                              // its victims are owners, whose signatures or approvals were used
	claims       bool                              // an earlier claim of the cluster would explain what it finds
	blamesFaulty bool                              // its headline is about the faulty contract, if there is one, and not about the victim
}

// match is one place where a rule fires.
type match struct {
	rule      *rule
	grade     grade
	category  api.Category
	victims   []common.Address // of which the first is named; empty: whoever lost most
	faulty    common.Address   // whose rule broke; zero: the victim's
	calls     []int            // that decide
	frames    []int            // further frames that decide
	moves     []int
	count     int              // how often, where that decides
	values    [2]*big.Int      // two answers of one view, where they decide
	position  facts.Position   // the amount that decides, if any
	unclaimed bool             // the state shows no earlier claim that would explain it
	takers    []common.Address // who has the assets of a drain now
	state     *observed        // what the state shows of the first victim; nil: nothing
}

// assumeLoan has every transaction pass for one with a flash loan. Tests set it to see how
// much rests on that alone.
var assumeLoan bool

// fireRules looks for all rules. Where nothing is laid out none fires.
func (l *inspection) fireRules() {
	if !l.laidOut() {
		return
	}
	l.gained, l.borrowed, l.oldDebt = len(l.f.Gains) > 0, len(l.f.Loans) > 0 || assumeLoan, len(l.f.OldDebt) > 0
	for _, r := range rules() {
		if l.f.Alone() && !r.alone {
			continue
		}
		for _, h := range r.fires(l) {
			h.rule = r
			l.matches = append(l.matches, h)
		}
	}
	l.dropClaimed()
	l.useState()
}

// Fired is a rule of outcomes that fired.
type Fired struct {
	Rule     string
	Decisive bool
}

// frame gives the frame at an index.
func (l *inspection) frame(i int) *trace.Frame { return l.f.Tree.Frames[i] }

// callFrame is the frame of an external call.
func (l *inspection) callFrame(d int) *trace.Frame { return l.frame(l.f.ExternalCalls[d].Frame) }

// exceeds reports whether n is more than percent hundredths of base.
func exceeds(n, base *big.Int, percent int64) bool {
	return new(big.Int).Mul(n, big.NewInt(100)).Cmp(new(big.Int).Mul(base, big.NewInt(percent))) > 0
}

// gave is what the cluster paid an account directly, of assets other than the account's own
// token; took is what it was paid by it.
func (l *inspection) gave(to common.Address) (calls []int) {
	for i := range l.f.Moves {
		m := &l.f.Moves[i]
		if m.To == to && l.f.InAttackerCluster(m.From) && m.Key.Token != to && l.f.Counts(m.Key) && m.Amount.Sign() > 0 {
			calls = append(calls, m.ExternalCall)
		}
	}
	return calls
}

// paidBy are the movements by which an account paid the cluster.
func (l *inspection) paidBy(from common.Address) (moves []int) {
	for i := range l.f.Moves {
		m := &l.f.Moves[i]
		if m.From == from && l.f.InAttackerCluster(m.To) && m.Amount.Sign() > 0 && l.f.Counts(m.Key) {
			moves = append(moves, i)
		}
	}
	return moves
}

// callsOf are the external calls of movements, each once.
func (l *inspection) callsOf(moves []int) (calls []int) {
	seen := map[int]bool{}
	for _, i := range moves {
		if d := l.f.Moves[i].ExternalCall; d >= 0 && !seen[d] {
			seen[d] = true
			calls = append(calls, d)
		}
	}
	return calls
}

// wrapped is the token of the native coin; zero where there is none.
func (l *inspection) wrapped() common.Address {
	if w := l.f.Chain.WrappedNative; w != nil {
		return *w
	}
	return common.Address{}
}

// redeemed reports whether the cluster gave back, in the external calls in which an account paid it,
// shares that it had held before the transaction: burnt them or sent them to the account.
func (l *inspection) redeemed(v common.Address) bool {
	paid := l.paidBy(v)
	keys := map[facts.Key]bool{}
	for _, i := range paid {
		keys[l.f.Moves[i].Key] = true
	}
	for _, d := range l.callsOf(paid) {
		for _, j := range l.f.ExternalCalls[d].Moves {
			m := &l.f.Moves[j]
			if l.f.InAttackerCluster(m.From) && (m.To == (common.Address{}) || m.To == v) && !keys[m.Key] &&
				(m.Key.Token == v || more(m)) && l.spent(m.Key) {
				return true
			}
		}
	}
	return false
}

// more reports whether a movement is more than dust.
func more(m *facts.Move) bool { return !facts.Fungible(m.Key) || m.Amount.Cmp(big.NewInt(100)) > 0 }

// spent reports whether the cluster has less of an asset than before.
func (l *inspection) spent(k facts.Key) bool {
	return slices.ContainsFunc(l.f.Spent, func(p facts.Position) bool { return p.Key == k })
}

// owed reports whether what an account paid the cluster was borrowed: in each external call in which
// it paid, the cluster called a function that borrows, and a token was minted to the cluster
// that books the debt.
func (l *inspection) owed(v common.Address) bool {
	moves := l.paidBy(v)
	for _, i := range moves {
		d := l.f.Moves[i].ExternalCall
		if d < 0 || !l.f.Borrows(l.f.ExternalCalls[d].Frame) {
			return false
		}
		booked := false
		for _, j := range l.f.ExternalCalls[d].Moves {
			m := &l.f.Moves[j]
			booked = booked || m.From == (common.Address{})
		}
		if !booked {
			return false
		}
	}
	return len(moves) > 0
}

// soldBy reports whether an account sold its stock to the cluster for a price that goes to
// somebody else: in each external call in which it paid the cluster, it called for something that the
// side gave to an account which ran no code, its owner's say.
func (l *inspection) soldBy(v common.Address) bool {
	moves := l.paidBy(v)
	for _, i := range moves {
		d := l.f.Moves[i].ExternalCall
		if d < 0 || l.f.ExternalCalls[d].Target != v ||
			!slices.ContainsFunc(l.f.ExternalCalls[d].Moves, func(j int) bool { return l.price(&l.f.Moves[j]) }) {
			return false
		}
	}
	return len(moves) > 0
}

// price reports whether a movement is more than dust from the cluster to an account of others
// that ran no code.
func (l *inspection) price(m *facts.Move) bool {
	return l.f.InAttackerCluster(m.From) && !l.f.RanCode(m.To) && l.f.Counts(m.Key) && more(m)
}

// explained reports whether the transaction shows why an account paid the cluster: it got its
// shares back, booked a debt, or sold.
func (l *inspection) explained(v common.Address) bool {
	return l.redeemed(v) || l.owed(v) || l.soldBy(v)
}

// unpaidLossCandidates are the loss candidates to which the cluster gave back nothing, owes nothing and paid
// no price.
func (l *inspection) unpaidLossCandidates() (out []*facts.LossCandidate) {
	for i := range l.f.LossCandidates {
		if loss := &l.f.LossCandidates[i]; !l.explained(loss.Address) {
			out = append(out, loss)
		}
	}
	return out
}
