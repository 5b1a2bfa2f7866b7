package classify

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// envelopeSteps tell what the transaction carries beside its call: blobs, and
// EIP-7702 authorizations with what became of them.
func (a *stepWriter) envelopeSteps() (steps []step) {
	say := func(text func() string) { steps = append(steps, step{at: -1, text: text}) }
	if n := len(a.Tx.BlobHashes); n > 0 {
		say(func() string { return "The transaction carried " + api.Count(n, "blob") + " of data." })
	}
	if len(a.Tx.Authorizations) > 0 {
		say(func() string { return a.sayAuthorizations() + "." })
	}
	return steps
}

// authorizations are those of the transaction; without a state diff the tuple alone
// says of some that they cannot have been applied.
func (a *Reading) authorizations() []decode.Authorization {
	if a.Authorizations == nil {
		a.Facts.Authorizations = decode.Authorizations(a.Tx, a.chainID, nil)
	}
	return a.Authorizations
}

func (a *stepWriter) sayAuthorizations() string {
	list := a.authorizations()
	parts := a.sayApplied(list)
	reasons := map[decode.Outcome][]string{}
	count := map[decode.Outcome]int{}
	for i := range list {
		x := &list[i]
		count[x.Outcome]++
		if known := reasons[x.Outcome]; x.Outcome != decode.Applied && len(known) < 3 && !slices.Contains(known, x.Why) {
			reasons[x.Outcome] = append(known, x.Why)
		}
	}
	if n := count[decode.Skipped]; n > 0 {
		parts = append(parts, wasOrWere(n)+" skipped, for "+join(reasons[decode.Skipped]))
	}
	if n := count[decode.Unknown]; n > 0 {
		part := "whether " + wasOrWere(n) + " applied is not known"
		if delegates, clears := a.delegates(); len(delegates) > 0 {
			part += ", naming the code of " + a.several(delegates)
		} else if clears > 0 {
			part += ", naming no code"
		}
		parts = append(parts, part+": "+join(reasons[decode.Unknown]))
	}
	return "The transaction carried " + api.Count(len(list), "EIP-7702 authorization") + ": " + strings.Join(parts, "; ")
}

func wasOrWere(n int) string {
	if n == 1 {
		return "1 was"
	}
	return strconv.Itoa(n) + " were"
}

// sayApplied tells what each account runs after the list: its last applied entry.
func (a Words) sayApplied(list []decode.Authorization) (parts []string) {
	var order []common.Address
	last := map[common.Address]common.Address{}
	for i := range list {
		if x := &list[i]; x.Outcome == decode.Applied {
			if _, ok := last[*x.Authority]; !ok {
				order = append(order, *x.Authority)
			}
			last[*x.Authority] = x.Delegate
		}
	}
	for i, who := range order {
		if i == 3 && len(order) > 4 {
			return append(parts, strconv.Itoa(len(order)-3)+" more accounts were changed likewise")
		}
		if to := last[who]; to == (common.Address{}) {
			parts = append(parts, a.Who(who)+" runs no code any more")
		} else {
			parts = append(parts, a.Who(who)+" runs the code of "+a.Who(to)+" from now on")
		}
	}
	return parts
}

// delegates are the code addresses that authorizations name, and how many
// authorizations name none, which asks to remove a delegation. What was skipped
// names nothing.
func (a *Reading) delegates() (list []common.Address, clears int) {
	all := a.authorizations()
	for i := range all {
		switch x := &all[i]; {
		case x.Outcome == decode.Skipped:
		case x.Delegate == common.Address{}:
			clears++
		case len(list) < 64:
			list = append(list, x.Delegate)
		}
	}
	return distinct(list), clears
}

// several names up to three addresses and counts the rest.
func (a Words) several(list []common.Address) string {
	var parts []string
	for i, x := range list {
		if i == 3 && len(list) > 4 {
			parts = append(parts, strconv.Itoa(len(list)-3)+" more")
			break
		}
		parts = append(parts, a.Who(x))
	}
	return join(parts)
}

// functionOf names the function that a frame called: its name, or its selector.
func (a Words) functionOf(f *trace.Frame) string {
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
func (a Words) sayCreated() string {
	if a.Receipt == nil || a.Receipt.ContractAddress == nil || !a.Succeeded {
		return "tried to create a contract"
	}
	s := "created contract " + a.Who(*a.Receipt.ContractAddress)
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
	return " with " + api.Thousands(strconv.Itoa(len(f.Output))) + " bytes of code"
}

// noCodeRan: there was calldata, and the gas used is to the unit what the data itself
// costs (Yellow Paper and EIP-2028, or the floor of EIP-7623): nothing was executed.
func (a *Reading) noCodeRan() bool {
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
func (a Words) sumNote() string {
	what := api.Thousands(strconv.Itoa(len(a.Tx.Input))) + " bytes of data"
	if text := note(a.Tx.Input); text != "" {
		what = "the message \"" + text + "\""
	}
	if a.Tx.Value.Sign() > 0 {
		what = a.Amount(flow.TokenKey{}, a.Tx.Value) + " with " + what
	}
	to := "itself"
	if *a.Tx.To != a.sender {
		to = a.Who(*a.Tx.To)
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
