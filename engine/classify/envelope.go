package classify

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"txlens/engine/explain"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// envelopeSteps tell what the transaction carries beside its call: blobs, and
// EIP-7702 authorizations. Which of these were applied depends on the nonces of their
// signers at that moment; the transaction alone does not say.
func (a *analysis) envelopeSteps() (steps []step) {
	say := func(text func() string) { steps = append(steps, step{at: -1, text: text}) }
	if n := len(a.Tx.BlobHashes); n > 0 {
		say(func() string { return "The transaction carried " + explain.Count(n, "blob") + " of data." })
	}
	if len(a.Tx.Authorizations) > 0 {
		say(func() string { return a.sayAuthorizations() + "." })
	}
	return steps
}

func (a *analysis) sayAuthorizations() string {
	delegates, clears := a.delegates()
	s := "The transaction carried " + explain.Count(len(a.Tx.Authorizations), "EIP-7702 authorization")
	if len(delegates) > 0 {
		s += " to let an account run the code of " + a.several(delegates)
	}
	switch {
	case clears > 0 && len(delegates) > 0:
		s += ", " + strconv.Itoa(clears) + " of them to remove such code"
	case clears > 0:
		s += " to remove the code of an account"
	}
	return s + "; whether it took effect is not known from the transaction"
}

// delegates are the code addresses that authorizations name, and how many
// authorizations name none, which asks to remove a delegation.
func (a *analysis) delegates() (list []common.Address, clears int) {
	for i := range a.Tx.Authorizations {
		if x := a.Tx.Authorizations[i].Address; x == (common.Address{}) {
			clears++
		} else if len(list) < 64 {
			list = append(list, x)
		}
	}
	return distinct(list), clears
}

// several names up to three addresses and counts the rest.
func (a *analysis) several(list []common.Address) string {
	var parts []string
	for i, x := range list {
		if i == 3 && len(list) > 4 {
			parts = append(parts, strconv.Itoa(len(list)-3)+" more")
			break
		}
		parts = append(parts, a.who(x))
	}
	return join(parts)
}

// functionOf names the function that a frame called: its name, or its selector.
func (a *analysis) functionOf(f *trace.Frame) string {
	if n := plainText(a.nameOfCall(f)); n != "" && (len(n) < 2 || n[:2] != "0x") {
		return n
	}
	in := a.Tx.Input
	if f != nil {
		in = f.Input
	}
	if len(in) < 4 {
		return "a function"
	}
	return "function " + "0x" + hex.EncodeToString(in[:4])
}

// sayCreated tells what the creating transaction made.
func (a *analysis) sayCreated() string {
	if a.Receipt == nil || a.Receipt.ContractAddress == nil || !a.Succeeded {
		return "tried to create a contract"
	}
	s := "created contract " + a.who(*a.Receipt.ContractAddress)
	if f := a.rootFrame(); f != nil {
		s += codeSize(f)
	}
	return s
}

// codeSize tells how much code a creating frame left, where the trace shows it.
func codeSize(f *trace.Frame) string {
	if len(f.Output) == 0 {
		return ""
	}
	return " with " + explain.Thousands(strconv.Itoa(len(f.Output))) + " bytes of code"
}

// noCodeRan: there was calldata, and the gas used is to the unit what the data itself
// costs (Yellow Paper and EIP-2028, or the floor of EIP-7623): nothing was executed.
func (a *analysis) noCodeRan() bool {
	if !a.Succeeded || a.Tx.To == nil || a.Receipt == nil || len(a.Receipt.Logs) > 0 || len(a.Tx.Input) == 0 || len(a.Tx.AccessList)+len(a.Tx.Authorizations) > 0 {
		return false
	}
	if f := a.rootFrame(); f != nil && len(f.Children)+len(f.Output) > 0 {
		return false
	}
	zeros := uint64(0)
	for _, b := range a.Tx.Input {
		if b == 0 {
			zeros++
		}
	}
	rest := uint64(len(a.Tx.Input)) - zeros
	switch a.Receipt.GasUsed {
	case 21000 + 4*zeros + 16*rest, 21000 + 4*zeros + 68*rest, 21000 + 10*zeros + 40*rest:
		return true
	}
	return false
}

// sumNote tells of data sent to an address that ran no code: a message, as a rule.
func (a *analysis) sumNote() string {
	what := explain.Thousands(strconv.Itoa(len(a.Tx.Input))) + " bytes of data"
	if text := note(a.Tx.Input); text != "" {
		what = "the message \"" + text + "\""
	}
	if a.Tx.Value.Sign() > 0 {
		what = a.amount(flow.TokenKey{}, a.Tx.Value) + " with " + what
	}
	to := "itself"
	if *a.Tx.To != a.sender {
		to = a.who(*a.Tx.To)
	}
	return "Sent " + what + " to " + to
}

// note reads calldata as a text; empty when it is none.
func note(data []byte) string {
	if len(data) < 2 || len(data) > 4096 || !utf8.Valid(data) {
		return ""
	}
	for _, r := range string(data) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return ""
		}
	}
	return strings.ReplaceAll(sentence(string(data)), "\"", "'")
}
