package narrate

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/decode"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// names renders things as marks that a test recognises.
type names struct{}

func (names) Who(common.Address) string                 { return "WHO" }
func (names) Abbreviate(common.Address) string          { return "SHORT" }
func (names) Symbol(common.Address) string              { return "SYMBOL" }
func (names) Amount(_ flow.TokenKey, n *big.Int) string { return n.String() + " UNITS" }
func (names) Callee(int) string                         { return "CALLEE" }
func (names) Reason(int) string                         { return "REASON" }
func (names) Protocol(slug string) string               { return slug }
func (names) Foreign(name string) string                { return name }

// TestEveryForm: each form has words, and takes the number of arguments that it shows.
func TestEveryForm(t *testing.T) {
	for _, f := range verdict.Forms() {
		text := english[f]
		if text == "" {
			t.Errorf("form %d has no words", f)
			continue
		}
		args := make([]verdict.Arg, strings.Count(strings.ReplaceAll(text, "%%", ""), "%s"))
		for i := range args {
			args[i] = verdict.Who{}
		}
		if got := Sentence(names{}, verdict.Say(f, args...)); strings.Contains(got, "%!") || strings.Count(got, "WHO") != len(args) || strings.Contains(got, "%%") {
			t.Errorf("%q renders as %q", text, got)
		}
	}
	if len(english) != len(verdict.Forms()) {
		t.Errorf("%d forms have words, there are %d", len(english), len(verdict.Forms()))
	}
}

// TestAccused: the one who acted is an attacker only in forms that decide, however deep.
func TestAccused(t *testing.T) {
	f := func(form verdict.Form, want string) {
		t.Helper()
		clones := verdict.Say(verdict.CauseClones, verdict.Who{})
		args := make([]verdict.Arg, strings.Count(strings.ReplaceAll(english[form], "%%", ""), "%s"))
		for i := range args {
			args[i] = verdict.List{verdict.Say(verdict.WithLoan, clones)}
		}
		if got := Sentence(names{}, verdict.Say(form, args...)); !strings.Contains(got, want+" made WHO act") || strings.Contains(got, accused) {
			t.Errorf("form %d: %s", form, got)
		}
	}
	f(verdict.ExploitOf, "the attacker")
	f(verdict.DrainOf, "the attacker")
	f(verdict.GainUnexplained, "the sender")
	f(verdict.MovesUnexplained, "the sender")
	f(verdict.PossibleDrain, "the sender")
	f(verdict.PossibleDrainRevoke, "the sender")
}

// TestArguments: each type of argument is rendered.
func TestArguments(t *testing.T) {
	f := func(a verdict.Arg, want string) {
		t.Helper()
		if got := argument(names{}, a, ""); got != want {
			t.Errorf("%#v: %q, want %q", a, got, want)
		}
	}
	x := common.HexToAddress("0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B")
	far := common.HexToHash("0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103")
	f(verdict.Who(x), "WHO")
	f(verdict.Symbol(x), "SYMBOL")
	f(verdict.Abbreviated(x), "SHORT")
	f(verdict.Whole(x), "0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B")
	f(verdict.Amount{N: big.NewInt(5)}, "5 UNITS")
	f(verdict.Callee(0), "CALLEE")
	f(verdict.Reason(0), "REASON")
	f(verdict.Path("0.1"), "0.1")
	f(verdict.Int(7), "7")
	f(verdict.Num(big.NewInt(-7)), "-7")
	f(verdict.Protocol("aave"), "aave")
	f(verdict.Foreign("USDC"), "USDC")
	f(verdict.Slot(common.BigToHash(big.NewInt(70_000))), "70000")
	f(verdict.BriefSlot(common.BigToHash(big.NewInt(8))), "8")
	f(verdict.BriefSlot(far), "0xb5312768…5d6103")
	f(verdict.Slot(far), far.Hex())
	f(verdict.SlotKind("admin"), "admin")
	f(verdict.Did(verdict.OwnerChanged), "its owner was replaced")
	f(verdict.List{verdict.Int(1), verdict.Int(2)}, "1, 2")
	f(verdict.Stated("so"), "so")
	f(verdict.Count{N: 2, Of: verdict.OfTransferEvents}, "2 transfer events")
	f(verdict.Say(verdict.AtSlot, verdict.Int(4)), "slot 4")
}

// TestAdministrativeWords: each administrative flag says what was done.
func TestAdministrativeWords(t *testing.T) {
	for _, f := range verdict.Flags() {
		if f.Info().Administrative != (did[f] != "") {
			t.Errorf("%s: %q", f, did[f])
		}
	}
}

// TestReadRisk: the line of a risk is read back; other lines have no flag.
func TestReadRisk(t *testing.T) {
	f := func(line string, flag verdict.Flag, why string) {
		t.Helper()
		if g, text := ReadRisk(line); g != flag || text != why {
			t.Errorf("%q: %q, %q", line, g, text)
		}
	}
	f(Risk(names{}, verdict.Risk{Flag: verdict.Drain, Why: verdict.Say(verdict.AsStated, verdict.Stated("a: b"))}), verdict.Drain, "a: b")
	f("reentrancy: it", verdict.FlagOfCause("reentrancy"), "it")
	f("made_up: it", verdict.NoFlag, "made_up: it")
	f("drain", verdict.NoFlag, "drain")
	f("", verdict.NoFlag, "")
}

// TestNonCanonicalFunction: a function of which only the verified ABI of the contract knows
// is told with what is odd about its calldata.
func TestNonCanonicalFunction(t *testing.T) {
	f := &trace.Frame{Input: []byte{1, 2, 3, 4}}
	for note, want := range map[string]string{"": "pay", decode.NoteTrailing: "pay", decode.NotePadded: "pay (non-canonical calldata)", decode.NoteUnreadable: "pay (non-canonical calldata)"} {
		a := Words{Case: &facts.Case{Input: &facts.Input{Decoded: &decode.Set{Calls: []*decode.Call{{Name: "pay", Note: note}}}}}}
		if got := a.functionOf(f); got != want {
			t.Errorf("%q: %s", note, got)
		}
	}
}
