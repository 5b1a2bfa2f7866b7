package classify

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// Words writes addresses and amounts as the sentences of a Verdict do, for what is said
// of the same transaction elsewhere.
type Words struct{ a *analysis }

// NewWords makes the wording for facts.
func NewWords(f *Facts) Words { return Words{newAnalysis(f)} }

// NewFullWords makes a wording in which each address is written in full, for what has to
// stand by itself.
func NewFullWords(f *Facts) Words {
	a := newAnalysis(f)
	a.inFull = true
	return Words{a}
}

// InFull is the same wording with each address in full.
func (w Words) InFull() Words { return NewFullWords(w.a.Facts) }

// Who names an account: by its label, its token, its verified source, or its address.
func (w Words) Who(addr common.Address) string { return w.a.who(addr) }

// Amount writes how much of what, in whole tokens where the decimals are known.
func (w Words) Amount(key flow.TokenKey, n *big.Int) string { return w.a.amount(key, n) }

// Symbol names a token inside an amount.
func (w Words) Symbol(token common.Address) string { return w.a.symbol(token) }

// Callee names what a frame calls.
func (w Words) Callee(frame int) string { return w.a.target(w.a.Tree.Frames[frame]) }

// Reason says why a frame failed.
func (w Words) Reason(frame int) string { return w.a.why(w.a.Tree.Frames[frame]) }

// Protocol renders the name of a protocol.
func (w Words) Protocol(slug string) string { return protocol.NameOf(slug) }

// Foreign renders a name that a contract gave itself.
func (w Words) Foreign(name string) string { return plainText(name) }

// Minimum is the least output that the call for the actor asks for, where it is a known
// function of a router; false when it names none.
func Minimum(f *Facts) (*big.Int, bool) {
	a := newAnalysis(f)
	if a.call == nil || a.call.minOut < 0 || a.frame == nil || len(a.frame.Input) < 4 {
		return nil, false
	}
	b := evmsig.Word(a.frame.Input[4:], a.call.minOut)
	if b == nil {
		return nil, false
	}
	return new(big.Int).SetBytes(b), true
}
