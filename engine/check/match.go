package check

import (
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/decode"
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
	fires        func(*attack) []match
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

// attack is the working state of the rules.
type attack struct {
	l    *inspection
	f    *facts.Facts
	gain bool // the cluster has more of something that counts
	loan bool // the party worked with assets lent for the length of an external call
	all  []match
	old  bool // it settled a debt that it had not opened here

	claims map[common.Address]claim // earlier claims of the cluster, by who paid it
}

// assumeLoan has every transaction pass for one with a flash loan. Tests set it to see how
// much rests on that alone.
var assumeLoan bool

// newAttack lays the transaction out; nil where that cannot be done.
func (l *inspection) newAttack() *attack {
	f := l.f
	if f == nil || l.Tree.Source == trace.SourceReceipt {
		return nil
	}
	a := &attack{l: l, f: f, gain: len(f.Gains) > 0, loan: len(f.Loans) > 0 || assumeLoan, old: len(f.OldDebt) > 0}
	a.all = a.matches()
	a.dropClaimed()
	a.useState()
	return a
}

// published reports whether the function that a frame calls stands in an ABI that somebody
// published; names of databases that anybody may write to do not count.
func (l *inspection) published(frame int) bool {
	if l.Decoded == nil || frame >= len(l.Decoded.Calls) || l.Decoded.Calls[frame] == nil {
		return false
	}
	switch l.Decoded.Calls[frame].Provenance {
	case decode.FromVerified, decode.FromVerifiedImpl, decode.FromCurated, decode.FromPackages:
		return true
	}
	return false
}

// function is the name of the function that a frame calls.
func (l *inspection) function(frame int) string {
	if l.Decoded == nil || frame >= len(l.Decoded.Calls) || l.Decoded.Calls[frame] == nil {
		return ""
	}
	return l.Decoded.Calls[frame].Name
}

// Fired is a rule of outcomes that fired.
type Fired struct {
	Rule     string
	Decisive bool
}

// matches are those of all rules, in the order of the list.
func (a *attack) matches() (out []match) {
	for _, r := range rules() {
		if a.f.Alone() && !r.alone {
			continue
		}
		for _, h := range r.fires(a) {
			h.rule = r
			out = append(out, h)
		}
	}
	return out
}

// frame gives the frame at an index.
func (a *attack) frame(i int) *trace.Frame { return a.f.Tree.Frames[i] }

// callFrame is the frame of an external call.
func (a *attack) callFrame(d int) *trace.Frame { return a.frame(a.f.ExternalCalls[d].Frame) }

// exceeds reports whether n is more than percent hundredths of base.
func exceeds(n, base *big.Int, percent int64) bool {
	return new(big.Int).Mul(n, big.NewInt(100)).Cmp(new(big.Int).Mul(base, big.NewInt(percent))) > 0
}

// gave is what the cluster paid an account directly, of assets other than the account's own
// token; took is what it was paid by it.
func (a *attack) gave(to common.Address) (calls []int) {
	for i := range a.f.Moves {
		m := &a.f.Moves[i]
		if m.To == to && a.f.InAttackerCluster(m.From) && m.Key.Token != to && a.f.Counts(m.Key) && m.Amount.Sign() > 0 {
			calls = append(calls, m.ExternalCall)
		}
	}
	return calls
}

// paidBy are the movements by which an account paid the cluster.
func (a *attack) paidBy(from common.Address) (moves []int) {
	for i := range a.f.Moves {
		m := &a.f.Moves[i]
		if m.From == from && a.f.InAttackerCluster(m.To) && m.Amount.Sign() > 0 && a.f.Counts(m.Key) {
			moves = append(moves, i)
		}
	}
	return moves
}

// callsOf are the external calls of movements, each once.
func (a *attack) callsOf(moves []int) (calls []int) {
	seen := map[int]bool{}
	for _, i := range moves {
		if d := a.f.Moves[i].ExternalCall; d >= 0 && !seen[d] {
			seen[d] = true
			calls = append(calls, d)
		}
	}
	return calls
}

// wrapped is the token of the native coin; zero where there is none.
func (a *attack) wrapped() common.Address {
	if w := a.f.Chain.WrappedNative; w != nil {
		return *w
	}
	return common.Address{}
}

// redeemed reports whether the cluster gave back, in the external calls in which an account paid it,
// shares that it had held before the transaction: burnt them or sent them to the account.
func (a *attack) redeemed(v common.Address) bool {
	paid := a.paidBy(v)
	keys := map[facts.Key]bool{}
	for _, i := range paid {
		keys[a.f.Moves[i].Key] = true
	}
	for _, d := range a.callsOf(paid) {
		for _, j := range a.f.ExternalCalls[d].Moves {
			m := &a.f.Moves[j]
			if a.f.InAttackerCluster(m.From) && (m.To == (common.Address{}) || m.To == v) && !keys[m.Key] &&
				(m.Key.Token == v || more(m)) && a.spent(m.Key) {
				return true
			}
		}
	}
	return false
}

// more reports whether a movement is more than dust.
func more(m *facts.Move) bool { return !facts.Fungible(m.Key) || m.Amount.Cmp(big.NewInt(100)) > 0 }

// spent reports whether the cluster has less of an asset than before.
func (a *attack) spent(k facts.Key) bool {
	return slices.ContainsFunc(a.f.Spent, func(p facts.Position) bool { return p.Key == k })
}

// owed reports whether what an account paid the cluster was borrowed: in each external call in which
// it paid, the cluster called a function that borrows, and a token was minted to the cluster
// that books the debt.
func (a *attack) owed(v common.Address) bool {
	moves := a.paidBy(v)
	for _, i := range moves {
		d := a.f.Moves[i].ExternalCall
		if d < 0 || !a.f.Borrows(a.f.ExternalCalls[d].Frame) {
			return false
		}
		booked := false
		for _, j := range a.f.ExternalCalls[d].Moves {
			m := &a.f.Moves[j]
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
func (a *attack) soldBy(v common.Address) bool {
	moves := a.paidBy(v)
	for _, i := range moves {
		d := a.f.Moves[i].ExternalCall
		if d < 0 || a.f.ExternalCalls[d].Target != v ||
			!slices.ContainsFunc(a.f.ExternalCalls[d].Moves, func(j int) bool { return a.price(&a.f.Moves[j]) }) {
			return false
		}
	}
	return len(moves) > 0
}

// price reports whether a movement is more than dust from the cluster to an account of others
// that ran no code.
func (a *attack) price(m *facts.Move) bool {
	return a.f.InAttackerCluster(m.From) && !a.f.RanCode(m.To) && a.f.Counts(m.Key) && more(m)
}

// explained reports whether the transaction shows why an account paid the cluster: it got its
// shares back, booked a debt, or sold.
func (a *attack) explained(v common.Address) bool { return a.redeemed(v) || a.owed(v) || a.soldBy(v) }

// unpaidLossCandidates are the loss candidates to which the cluster gave back nothing, owes nothing and paid
// no price.
func (a *attack) unpaidLossCandidates() (out []*facts.LossCandidate) {
	for i := range a.f.LossCandidates {
		if l := &a.f.LossCandidates[i]; !a.explained(l.Address) {
			out = append(out, l)
		}
	}
	return out
}
