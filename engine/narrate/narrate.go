// Package narrate renders verdicts in English. It decides nothing: the same verdict and
// names give the same text.
package narrate

import (
	"fmt"
	"math/big"
	"strings"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Names renders accounts, assets and calls of one transaction.
type Names interface {
	// Who names an account: by its label, its token, its verified source, or its address.
	Who(common.Address) string
	// Abbreviate writes an address so that a reader can tell it from the others.
	Abbreviate(common.Address) string
	// Symbol names a token inside an amount.
	Symbol(token common.Address) string
	// Amount renders so much of an asset.
	Amount(key flow.TokenKey, n *big.Int) string
	// Callee names what the frame of this index calls.
	Callee(frame int) string
	// Reason says why the frame of this index failed.
	Reason(frame int) string
	// Protocol renders the name of a protocol.
	Protocol(slug string) string
	// Foreign renders a name that a contract gave itself so that it is harmless.
	Foreign(name string) string
}

// Sentence renders a sentence; the zero Sentence is empty.
func Sentence(n Names, s verdict.Sentence) string { return render(n, s, "the attacker") }

// accused stands in the English of a form for the one who acted. Where no finding decides, that
// is the sender: nobody is called an attacker without a finding.
const accused = "{attacker}"

// undecided are the forms that leave open whether there was an attack.
var undecided = map[verdict.Form]bool{
	verdict.GainUnexplained: true, verdict.MovesUnexplained: true, verdict.PossibleDrain: true, verdict.PossibleDrainRevoke: true,
}

func render(n Names, s verdict.Sentence, who string) string {
	if undecided[s.Form] {
		who = "the sender"
	}
	text := strings.ReplaceAll(english[s.Form], accused, who)
	if len(s.Args) == 0 {
		return strings.ReplaceAll(text, "%%", "%")
	}
	args := make([]any, len(s.Args))
	for i, a := range s.Args {
		args[i] = argument(n, a, who)
	}
	return fmt.Sprintf(text, args...)
}

// argument renders an argument; who is the one who acted, in sentences within.
func argument(n Names, a verdict.Arg, who string) string {
	switch v := a.(type) {
	case verdict.Who:
		return n.Who(common.Address(v))
	case verdict.Abbreviated:
		return n.Abbreviate(common.Address(v))
	case verdict.Symbol:
		return n.Symbol(common.Address(v))
	case verdict.Amount:
		return n.Amount(v.Key, v.N)
	case verdict.Callee:
		return n.Callee(int(v))
	case verdict.Reason:
		return n.Reason(int(v))
	case verdict.Protocol:
		return n.Protocol(string(v))
	case verdict.Foreign:
		return n.Foreign(string(v))
	case verdict.Sentence:
		return render(n, v, who)
	case verdict.List:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = argument(n, x, who)
		}
		return strings.Join(parts, ", ")
	}
	return plain(a)
}

// plain renders the arguments that need no names.
func plain(a verdict.Arg) string {
	switch v := a.(type) {
	case verdict.Whole:
		return common.Address(v).Hex()
	case verdict.Address:
		return api.AddrOf(common.Address(v)).String()
	case verdict.Count:
		return api.Count(v.N, thingWords[v.Of])
	case verdict.Path:
		return string(v)
	case verdict.Family:
		return string(v)
	case verdict.Number:
		return string(v)
	case verdict.Stated:
		return string(v)
	case verdict.SlotKind:
		return string(v)
	case verdict.Slot:
		return slot(common.Hash(v), 64, func(s string) string { return s })
	case verdict.BriefSlot:
		return slot(common.Hash(v), 16, func(s string) string { return s[:10] + "…" + s[60:] })
	case verdict.Did:
		return did[verdict.Flag(v)]
	}
	return ""
}

// Slot renders a slot in full.
func Slot(s common.Hash) string { return plain(verdict.Slot(s)) }

// slot renders a slot as a number where it has at most so many bits, else in hex.
func slot(s common.Hash, bits int, hex func(string) string) string {
	if n := s.Big(); n.BitLen() <= bits {
		return n.String()
	}
	return hex(s.Hex())
}

// thingWords name what is counted, in the singular.
var thingWords = [...]string{
	verdict.OfTransferEvents: "transfer event",
	verdict.OfMoreInnerCalls: "more inner call",
	verdict.OfCalls:          "call",
	verdict.OfContracts:      "contract",
	verdict.OfBalances:       "balance",
	verdict.OfTokens:         "token",
	verdict.OfChanges:        "change",
	verdict.OfAccounts:       "account",
	verdict.OfTimes:          "time",
	verdict.OfMoreAccounts:   "more account",
}

// did says what an administrator did to a contract.
var did = map[verdict.Flag]string{
	verdict.ImplementationChanged: "its implementation was replaced",
	verdict.AdminChanged:          "its proxy admin was replaced",
	verdict.BeaconChanged:         "its beacon was replaced",
	verdict.OwnerChanged:          "its owner was replaced",
	verdict.RoleGranted:           "a role was granted",
	verdict.RoleRevoked:           "a role was revoked",
	verdict.FacetsChanged:         "its facets were changed",
	verdict.ModuleEnabled:         "a module was enabled, which may move everything the Safe holds",
	verdict.ModuleDisabled:        "a module was disabled",
	verdict.ThresholdChanged:      "the number of signatures it asks for was changed",
	verdict.OwnerAdded:            "an owner was added",
	verdict.OwnerRemoved:          "an owner was removed",
	verdict.GuardChanged:          "its guard was replaced",
	verdict.Paused:                "it was paused",
}
