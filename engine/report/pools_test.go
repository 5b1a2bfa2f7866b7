package report

import (
	"testing"

	"txlens/engine/api"
)

// TestPoolAmounts: an amount of a pool event is scaled by the token whose transfer it is.
func TestPoolAmounts(t *testing.T) {
	const v3 = "Swap(address,address,int256,int256,uint160,uint128,int24)"
	log := func(signature string, values ...string) api.Node {
		n := api.Node{Type: "LOG", From: pool, EventSignature: &signature, Status: api.NodeOK}
		for _, v := range values {
			n.DecodedArgs = append(n.DecodedArgs, api.Arg{Value: v})
		}
		return n
	}
	f := func(name string, node api.Node, i int, want string, change func(r *api.Result)) {
		t.Helper()
		r := swap()
		swapped := log(v3, "", "", "-4512330000", "1500000000000000000", "9", "9", "9")
		r.PrettyTrace = []api.Node{swapped}
		if change != nil {
			change(r)
		}
		if got := newNames(r).scaledArg(&node, i); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	swapped := log(v3, "", "", "-4512330000", "1500000000000000000", "9", "9", "9")
	f("out of the pool", swapped, 2, "-4,512.33 USDC", nil)
	f("into the pool", swapped, 3, "1.5 WETH", nil)
	f("no amount", swapped, 4, "", nil)
	f("reserves", log("Sync(uint112,uint112)", "1000000", "2000000000000000000"), 1, "2 WETH", nil)
	other := swapped
	other.From = router
	f("another pool", other, 2, "", nil)
	f("no transfer of the amount", swapped, 2, "", func(r *api.Result) { r.TokenTransfers[1].Total = "4512330001" })
	f("two tokens with the amount", swapped, 2, "", func(r *api.Result) {
		twin := r.TokenTransfers[1]
		twin.TokenAddress = addr(77)
		r.TokenTransfers = append(r.TokenTransfers, twin)
	})
	f("undone", swapped, 2, "", func(r *api.Result) { r.PrettyTrace[0].Status = api.NodeReverted })
	f("events that contradict each other", swapped, 2, "", func(r *api.Result) {
		r.PrettyTrace = append(r.PrettyTrace, log(v3, "", "", "1500000000000000000", "-4512330000", "9", "9", "9"))
	})
}
