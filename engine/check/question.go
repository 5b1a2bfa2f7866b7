package check

import (
	"bytes"
	"math/big"
	"slices"

	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Question is a call to be made on the state around the transaction.
type Question struct {
	From common.Address // the caller that the contract sees; zero: nobody in particular
	To   common.Address
	Data []byte
	When When
	// Asker is what the answer decides, for the log.
	Asker string
}

// When is the state that a question is put to.
type When string

const (
	Before When = "before" // end of the parent block
	After  When = "after"  // end of the block
)

// View is the answer to a Question.
type View struct {
	Question
	Output   []byte
	Reverted bool
}

// number is the first word of an answer; nil where there is none, or the call reverted.
func (v *View) number() *big.Int {
	if v.Reverted {
		return nil
	}
	return evmsig.Uint(v.Output, 0)
}

// Bounds of what is asked: a triage is not worth more than a few calls.
const (
	maxQuestions = 10
	maxCalldata  = 4096
)

// ask gives the answer to a question, or notes it as open: then there is no answer yet, and the call
// counts as reverted.
func (l *inspection) ask(q Question) (View, bool) {
	same := func(o Question) bool {
		return o.From == q.From && o.To == q.To && o.When == q.When && bytes.Equal(o.Data, q.Data)
	}
	for _, v := range l.Views {
		if same(v.Question) {
			return v, true
		}
	}
	if len(q.Data) <= maxCalldata && len(l.asks) < maxQuestions && !slices.ContainsFunc(l.asks, same) {
		l.asks = append(l.asks, q)
	}
	return View{Question: q, Reverted: true}, false
}

func (l *inspection) open() []Question { return l.asks }

// stranger is an address to which nobody gave a right: it is cut from the hash of a
// text, so that nobody has a key to it.
var stranger = common.BytesToAddress(crypto.Keccak256([]byte("an account without any right"))[12:])

// openTo reports whether a stranger could have made a call before the transaction; ok
// is false while nobody has answered.
func (l *inspection) openTo(to common.Address, data []byte) (open, ok bool) {
	v, ok := l.ask(Question{From: stranger, To: to, Data: data, When: Before, Asker: "whether anybody may make the call"})
	return !v.Reverted, ok
}

// number asks for a number; nil where it is not known.
func (l *inspection) number(q Question) *big.Int {
	v, _ := l.ask(q)
	return v.number()
}
