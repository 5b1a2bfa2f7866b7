package trace_test

import (
	"fmt"
	"strings"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/fixture"
)

// made is a frame between accounts given by letters, with its children.
func made(kind string, from, to rune, value int, children ...string) string {
	return fmt.Sprintf(`{"type":%q,"from":"0x%040x","to":"0x%040x","gas":"0x1","gasUsed":"0x1","value":"0x%x","calls":[%s]}`,
		kind, from, to, value, strings.Join(children, ","))
}

// TestCorrectSenders: who made a call follows from the call around it. The frames that are
// left are given by kind, sender and value after the root.
func TestCorrectSenders(t *testing.T) {
	f := func(name, root, want string, notes int) {
		t.Helper()
		tree := parse(t, []byte(root), trace.Limits{})
		for range 2 { // a second time changes nothing
			tree.CorrectSenders()
		}
		var have []string
		for _, x := range tree.Frames[1:] {
			have = append(have, fmt.Sprintf("%s:%c%d", x.Kind, x.From[19], x.Value.Uint64()))
		}
		if got := strings.Join(have, " "); got != want || len(tree.Notes) != notes {
			t.Errorf("%s: %s, want %s; notes %q", name, got, want, tree.Notes)
		}
	}
	f("as it should be", made("CALL", 'a', 'p', 0, made("DELEGATECALL", 'p', 'i', 0, made("CALL", 'p', 'x', 2))), "DELEGATECALL:p0 CALL:p2", 0)
	f("the implementation pays", made("CALL", 'a', 'p', 0, made("DELEGATECALL", 'p', 'i', 0, made("CALL", 'i', 'x', 2))), "DELEGATECALL:p0 CALL:p2", 1)
	f("code of another", made("CALL", 'a', 'p', 0, made("CALLCODE", 'p', 'i', 2, made("CALL", 'i', 'x', 2))), "CALLCODE:p2 CALL:p2", 1)
	f("a chain of proxies", made("CALL", 'a', 'p', 0, made("DELEGATECALL", 'p', 'i', 0, made("DELEGATECALL", 'i', 'j', 0, made("CALL", 'j', 'x', 2)))),
		"DELEGATECALL:p0 DELEGATECALL:p0 CALL:p2", 1)
	f("the sender of all", made("CALL", 'a', 'p', 0, made("CALL", 'a', 'q', 0, made("STATICCALL", 'a', 'x', 0))), "CALL:p0 STATICCALL:q0", 1)
	f("a creation", made("CREATE", 'a', 'n', 0, made("CALL", 'a', 'x', 1)), "CALL:n1", 1)
	f("destroyed below a proxy", made("CALL", 'a', 'p', 0, made("DELEGATECALL", 'p', 'i', 0, made("SELFDESTRUCT", 'i', 'x', 2))),
		"DELEGATECALL:p0 SELFDESTRUCT:p2", 1)
	f("destroyed", made("CALL", 'a', 'p', 1, made("SELFDESTRUCT", 'p', 'x', 1)), "SELFDESTRUCT:p1", 0)
	f("the payment of the root again", made("CALL", 'a', 'p', 1, made("SELFDESTRUCT", 'a', 'p', 1)), "", 1)
	f("the last payment again", made("CALL", 'a', 'p', 0, made("CALL", 'p', 'x', 3), made("CALL", 'p', 'q', 0, made("SELFDESTRUCT", 'p', 'x', 3)), made("CALL", 'p', 'y', 0)),
		"CALL:p3 CALL:p0 CALL:p0", 1)
	f("a payment that nobody made", made("CALL", 'a', 'p', 1, made("SELFDESTRUCT", 'a', 'p', 2)), "SELFDESTRUCT:p2", 1)
	f("a payment that its wrong sender made", made("CALL", 'a', 'p', 0, made("DELEGATECALL", 'p', 'i', 0, made("CALL", 'i', 'x', 2)), made("CALL", 'p', 'q', 0, made("SELFDESTRUCT", 'i', 'x', 2))),
		"DELEGATECALL:p0 CALL:p2 CALL:p0", 2)
	f("a payment by its true sender", made("CALL", 'a', 'p', 0, made("DELEGATECALL", 'p', 'i', 0, made("CALL", 'i', 'x', 2)), made("CALL", 'p', 'q', 0, made("SELFDESTRUCT", 'p', 'x', 2))),
		"DELEGATECALL:p0 CALL:p2 CALL:p0", 2)
	f("a call that looks like an earlier one", made("CALL", 'a', 'p', 1, made("CALL", 'a', 'p', 1)), "CALL:p1", 1)
	f("two in a row", made("CALL", 'a', 'p', 1, made("SELFDESTRUCT", 'a', 'p', 1), made("SELFDESTRUCT", 'a', 'p', 1), made("CALL", 'a', 'x', 0)), "CALL:p0", 2)
	f("an unknown frame", made("CALL", 'a', 'p', 0, made("OTHER", 'p', 'q', 0, made("CALL", 'z', 'x', 1))), "UNKNOWN:p0 CALL:z1", 0)
}

// TestRemovedFrameKeepsOrder: logs after a removed frame stay between the same calls.
func TestRemovedFrameKeepsOrder(t *testing.T) {
	root := made("CALL", 'a', 'p', 1, made("SELFDESTRUCT", 'a', 'p', 1), made("CALL", 'p', 'x', 0), made("CALL", 'p', 'y', 0))
	logs := `,"logs":[{"address":"0x0000000000000000000000000000000000000070","topics":[],"data":"0x","position":"0x2"}]}`
	tree := parse(t, []byte(strings.TrimSuffix(root, "}")+logs), trace.Limits{})
	tree.CorrectSenders()
	var order string
	for it := range tree.Root.Items() {
		if it.Log != nil {
			order += "log "
		} else {
			order += string(rune(it.Child.To[19])) + " "
		}
	}
	if order != "x log y " {
		t.Error(order)
	}
}

// TestRecordedSenders: the traces of the node families agree with the rule.
func TestRecordedSenders(t *testing.T) {
	for _, b := range fixture.Blocks(t) {
		for _, x := range b.Txs {
			tree := parse(t, x.Trace, trace.Limits{})
			if tree.CorrectSenders(); len(tree.Notes) > 0 {
				t.Errorf("%s: %q", x.Hash, tree.Notes)
			}
		}
	}
}
