package check_test

import (
	"encoding/hex"
	"testing"

	"txlens/engine/trace"
)

// TestFunctionsOfDealings: an external call is told by the name of its function, by its selector, or by
// nothing where it is too short to have one.
func TestFunctionsOfDealings(t *testing.T) {
	f := func(want string, x *trace.Frame) {
		t.Helper()
		d := built(attackBy(all(x, fillers(3))...)).Triage.Dealings
		if d == nil || len(d.Deals) != 1 || d.Deals[0].Function != want || d.Deals[0].Target != who("vault") {
			t.Errorf("%+v, want the function %q", d, want)
		}
	}
	loot := pay("dai", "tool", 5000)
	f("buy", call("vault", "buy(uint256)", 1, loot))
	f("0x"+selectorOf("give_1()"), call("vault", "give_1()", loot))
	f("receive", sends("vault", 0, loot))
	short := sends("vault", 0, loot)
	short.Input = []byte{1, 2}
	f("", short)
}

// selectorOf is the selector of a function in hex.
func selectorOf(signature string) string { return hex.EncodeToString(calldata(signature)) }
