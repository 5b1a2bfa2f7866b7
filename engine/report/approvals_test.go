package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
)

// approvalEvent and spending are the lines of the call tree that approvals are read from.
func approvalEvent(owner, spender api.Addr, value string, nft bool) api.Node {
	return api.Node{Type: "LOG", From: usdc, Status: api.NodeOK, EventSignature: ref("Approval(address,address,uint256)"),
		DecodedArgs: []api.Arg{{Value: owner.String()}, {Value: spender.String()}, {Value: value, Indexed: nft}}}
}

func spendingCall(kind string, spender, owner api.Addr, value string, output ...byte) api.Node {
	return api.Node{Type: kind, From: spender, To: ref(usdc), Status: api.NodeOK, FunctionSignature: "transferFrom(address,address,uint256)",
		Output: output, DecodedArgs: []api.Arg{{Value: owner.String()}, {Value: pool.String()}, {Value: value}}}
}

// TestApprovals: what was given, used and left, and whether there is something to revoke.
func TestApprovals(t *testing.T) {
	const revoke = ", revoke"
	largest := "115792089237316195423570985008687907853269984665640564039457584007913129639935"
	f := func(want string, nodes ...api.Node) {
		t.Helper()
		r := swap()
		r.PrettyTrace = nodes
		rows, _ := newNames(r).approvals(r)
		var got []string
		for _, x := range rows {
			line := fmt.Sprintf("%s; %s; %s", x.Given, x.Used, x.Left)
			if x.Revoke != "" {
				line += revoke
				if x.Revoke != "https://revoke.cash/address/"+alice.String()+"?chainId=1" {
					t.Errorf("link %s", x.Revoke)
				}
			}
			got = append(got, line)
		}
		if text := strings.Join(got, " | "); text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	undone := approvalEvent(alice, router, "7000000", false)
	undone.Status = api.NodeReverted
	forAll := approvalEvent(alice, router, "", false)
	forAll.EventSignature, forAll.DecodedArgs[2] = ref("ApprovalForAll(address,address,bool)"), api.Arg{Value: true}
	f("")
	f("7 USDC; ; 7 USDC"+revoke, approvalEvent(alice, router, "7000000", false))
	f("7 USDC; 3 USDC; 4 USDC"+revoke, approvalEvent(alice, router, "7000000", false), spendingCall("CALL", router, alice, "3000000"))
	f("7 USDC; 7 USDC; nothing", approvalEvent(alice, router, "7000000", false), spendingCall("CALL", router, alice, "7000000"))
	f("before this transaction; 3 USDC; not known"+revoke, spendingCall("CALL", router, alice, "3000000"))
	// A token that states the rest after each use.
	f("4 USDC; 3 USDC; 4 USDC"+revoke, spendingCall("CALL", router, alice, "3000000"), approvalEvent(alice, router, "4000000", false))
	f("0; ; nothing", approvalEvent(alice, router, "0", false))
	f("unlimited USDC; 3 USDC; unlimited"+revoke, approvalEvent(alice, router, largest, false), spendingCall("CALL", router, alice, "3000000"))
	// Used more than was given: the token counts in another way.
	f("1 USDC; 3 USDC; not known"+revoke, approvalEvent(alice, router, "1000000", false), spendingCall("CALL", router, alice, "3000000"))
	f("7 USDC; ; 7 USDC"+revoke, approvalEvent(alice, router, "7000000", false), spendingCall("DELEGATECALL", router, alice, "3000000"))
	f("7 USDC; ; 7 USDC"+revoke, approvalEvent(alice, router, "7000000", false), spendingCall("CALL", router, alice, "3000000", make([]byte, 32)...))
	f("7 USDC; ; 7 USDC"+revoke, approvalEvent(alice, router, "7000000", false), spendingCall("CALL", alice, alice, "3000000")) // no right is needed
	f("NFT #7; ; until it is transferred"+revoke, approvalEvent(alice, router, "7", true))
	f("revoked; ; nothing", approvalEvent(alice, api.Addr{}, "7", true))
	f("all NFTs; ; all NFTs"+revoke, forAll)
	f("", undone)
}

// TestOwnGas: without that of the frames it called, and not known where some are left out.
func TestOwnGas(t *testing.T) {
	frame := func(depth int, gas uint64) api.Node { return api.Node{Type: "CALL", Depth: depth, GasUsed: gas} }
	f := func(want string, markers []api.LoopMarker, nodes ...api.Node) {
		t.Helper()
		r := &api.Result{PrettyTrace: nodes, PrettyTraceMeta: &api.TraceMeta{Markers: markers}}
		if got := fmt.Sprint(ownGas(r)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f("[]", nil)
	f("[50 20 10 20]", nil, frame(0, 100), frame(1, 30), frame(2, 10), frame(1, 20))
	f("[100 -1 0]", nil, frame(0, 100), api.Node{Type: "LOG", Depth: 1}, frame(1, 0))
	f("[-1 30]", []api.LoopMarker{{ParentIndex: 0}}, frame(0, 100), frame(1, 30))
	f("[-1 130]", nil, frame(0, 100), frame(1, 130)) // a refund
	f("[100 10]", []api.LoopMarker{{ParentIndex: 7}}, frame(0, 110), frame(5, 10))
}

// TestScaled: amounts of tokens whose decimals are known, of functions and events that are known
// to have one.
func TestScaled(t *testing.T) {
	n := newNames(swap())
	f := func(want string, node api.Node, at int) {
		t.Helper()
		for i := range node.DecodedArgs {
			w := ""
			if i == at {
				w = want
			}
			if got := n.scaledArg(&node, i); got != w {
				t.Errorf("argument %d: %q, want %q", i, got, w)
			}
		}
	}
	proxied := spendingCall("DELEGATECALL", usdc, alice, "3000000")
	proxied.To = ref(addr(20))
	other := spendingCall("CALL", router, alice, "3000000")
	other.To = ref(addr(20))
	pair := spendingCall("CALL", router, alice, "3000000")
	pair.FunctionSignature = "deposit(address,address,uint256)"
	f("3 USDC", spendingCall("CALL", router, alice, "3000000"), 2)
	f("3 USDC", proxied, 2)
	f("7.5 USDC", approvalEvent(alice, router, "7500000", false), 2)
	f("", other, 2) // not a token of this transaction
	f("", pair, 2)
	f("", spendingCall("CALL", router, alice, "x"), 2)
}

// TestReturned: one word of a known function has a name, all else is data.
func TestReturned(t *testing.T) {
	n := newNames(swap())
	f := func(function string, output []byte, want arg) {
		t.Helper()
		node := api.Node{Type: "STATICCALL", From: router, To: ref(usdc), FunctionSignature: function, Output: output, Status: api.NodeOK}
		got := n.returned(&node, 16)
		if len(got) == 0 {
			got = []arg{{}}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", function, got, want)
		}
	}
	word := make([]byte, 32)
	word[29] = 0x1e // 1,966,080
	f("balanceOf(address)", word, arg{"balance", "", "1966080", "1.96608 USDC"})
	f("transfer(address,uint256)", word, arg{"success", "", "true", ""})
	f("transfer(address,uint256)", make([]byte, 32), arg{"success", "", "false", ""})
	f("balanceOf(address)", word[:2], arg{"data", "", "0x0000", ""})
	f("slot0()", []byte{1}, arg{"data", "", "0x01", ""})
	f("slot0()", nil, arg{})
	node := api.Node{Type: "STATICCALL", To: ref(pool), FunctionSignature: "slot0()", Output: make([]byte, 64), Status: api.NodeOK,
		DecodedOutput: []api.Arg{{Name: "tick", Type: "int24", Value: "-7"}, {Type: "bool", Value: true}}}
	if got := n.returned(&node, 16); !slices.Equal(got, []arg{{Name: "tick", Value: "-7"}, {Name: "bool", Value: "true"}}) {
		t.Errorf("values of a known ABI: %+v", got)
	}
	if got := n.returned(&node, 1); len(got) != 1 {
		t.Errorf("%d values, want 1", len(got))
	}
	node.Status = api.NodeFailed
	if got := n.returned(&node, 16); len(got) != 1 || got[0].Name != "data" {
		t.Errorf("of a failed call: %+v", got)
	}
	f("slot0()", make([]byte, 300), arg{"data", "", "0x" + strings.Repeat("00", 256) + " and 44 more bytes", ""})
}

// TestFlame: a frame lies within the one that called it, whatever the numbers.
func TestFlame(t *testing.T) {
	for name, r := range samples() {
		d := newNames(r).flame(r)
		if d == nil {
			continue
		}
		for _, b := range d.Boxes {
			if b.X < 0 || b.W < 1 || b.X+b.W > d.W || b.Y < 0 || b.Y+b.H > d.H {
				t.Errorf("%s: %+v lies outside %d x %d", name, b, d.W, d.H)
			}
		}
	}
	frame := func(depth int, gas uint64) api.Node {
		return api.Node{Type: "CALL", Depth: depth, GasUsed: gas, To: ref(usdc)}
	}
	f := func(want string, nodes ...api.Node) {
		t.Helper()
		got := ""
		if d := newNames(&api.Result{}).flame(&api.Result{PrettyTrace: nodes}); d != nil {
			for _, b := range d.Boxes {
				got += fmt.Sprintf("%d+%d@%d ", b.X, b.W, b.Y/flameRow)
			}
			got += d.Note
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("")
	f("", frame(0, 0))
	f("0+1039@0 ", frame(0, 100))
	f("0+1039@0 0+519@1 520+259@1 520+259@2 ", frame(0, 100), frame(1, 50), frame(1, 25), frame(2, 25))
	f("0+1039@0 0+1039@1 ", frame(0, 100), frame(1, 1<<63))
	f("0+1039@0 0+519@1 0+519@2 ", frame(0, 100), frame(1, 50), frame(2, 80))
	f("0+1039@0 0+1039@1 Not drawn: 1 frame too narrow or too deep.", frame(0, 100), frame(1, 200), frame(1, 5))
}
