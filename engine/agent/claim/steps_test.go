package claim

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/testkit/recorded"
)

// TestMergedSteps: a step of the rules goes only for one of the model that says all of
// it, and what is left of both stands in the order of the transaction.
func TestMergedSteps(t *testing.T) {
	c := exploitCase(t)
	const (
		called  = "0x1111…1111 called function 0xdeadbeef of 0x2222…2222."
		paidIn  = "0x2222…2222 sent 100 USDC to \"SavingsVault\" (0x3333…3333)."
		paidOut = "\"SavingsVault\" (0x3333…3333) sent 5,000 USDC to 0x2222…2222."
		fee     = "0x1111…1111 paid a fee of 0.000063 ETH."
	)
	if !slices.Equal(c.Result.Steps, []string{called, paidIn, paidOut, fee}) {
		t.Fatalf("%q", c.Result.Steps)
	}
	f := func(own []TextRefs, want ...string) {
		t.Helper()
		r, _ := Apply(c, &Answer{TxType: *c.Result.TxType, Confidence: api.High, Summary: "It called.", Steps: own}, NewIndex(c))
		if !slices.Equal(r.Steps, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(r.Steps, "\n"), strings.Join(want, "\n"))
		}
	}
	f(nil, called, paidIn, paidOut, fee)
	// One step of the model does not make those of the rules go.
	f([]TextRefs{{"It used {gas}.", []string{"tx"}}}, called, "It used 21,000 gas.", paidIn, paidOut, fee)
	// Pointing to a place is not enough, nor is giving its numbers.
	f([]TextRefs{{"It moved something in {log:40}.", []string{"log:41"}}}, called, paidIn, "It moved something in log 40.", paidOut, fee)
	same := "{address:" + vault + "} sent {amount:log:41} to {address:target}."
	f([]TextRefs{{"The vault sent {usd:log:41} to {address:target}.", nil}}, called, paidIn, paidOut, "The vault sent $5,000 to 0x2222…2222.", fee)
	f([]TextRefs{{"The other sent {figure:1} to {address:target}.", []string{"log:40"}}}, called, paidIn, paidOut, fee) // there is no figure
	// One that says all of it covers it, with more said of the place and in other words.
	f([]TextRefs{{"Then " + same, nil}}, called, paidIn, "Then \"SavingsVault\" (0x3333…3333) sent 5,000 USDC to 0x2222…2222.", fee)
	f([]TextRefs{{"{address:" + vault + "} took {amount:log:40} from {address:target}.", []string{"frame:0.0.0"}}}, called, "\"SavingsVault\" (0x3333…3333) took 100 USDC from 0x2222…2222.", paidOut, fee)
	again := "It is {address:sender} that called function {selector:0xdeadbeef} of {address:target}."
	rendered := "It is 0x1111…1111 that called function 0xdeadbeef of 0x2222…2222."
	f([]TextRefs{{again, []string{"frame:0"}}}, rendered, paidIn, paidOut, fee)
	f([]TextRefs{{again, []string{"{frame:0.0.1}"}}}, called, paidIn, rendered, paidOut, fee) // of another place
	all := "{address:sender} had {address:target} (by {selector:0xdeadbeef}) send {amount:log:40} to {address:" + vault + "} and take {amount:log:41} for a fee of {amount:fee}."
	f([]TextRefs{{all, []string{"tx"}}}, "0x1111…1111 had 0x2222…2222 (by 0xdeadbeef) send 100 USDC to \"SavingsVault\" (0x3333…3333) and take 5,000 USDC for a fee of 0.000063 ETH.")
	// Those of the model keep their order.
	f([]TextRefs{{"It withdrew first, {event:41}.", nil}, {"It deposited then, {event:40}.", nil}}, called, paidIn, paidOut, "It withdrew first, Transfer.", "It deposited then, Transfer.", fee)
}

// TestMarks: which words of a sentence another must repeat to say the same.
func TestMarks(t *testing.T) {
	f := func(s string, want ...string) {
		t.Helper()
		if got := marks(s); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	f("")
	f("It was sent.")
	f("Sent 1.5 ETH to SavingsVault (0x3333…3333).", "1.5", "ETH", "SavingsVault", "0x3333…3333")
	f("USDC came, in log 7; none left.", "USDC", "7")
}

// TestNoStepIsLost: on recorded transactions each step of the rules stays or has its
// numbers, addresses and names in one step of the model.
func TestNoStepIsLost(t *testing.T) {
	for _, hash := range []string{"0x5dcdd902dc", "0x769e36370a", "0xc30c589a09", "0x80ce0c71a4", "0x216b67f3ad"} {
		c := assemble.Build(recorded.Find(t, hash))
		ix := NewIndex(c)
		var refs []string
		for n := range ix.logs {
			refs = append(refs, "log:"+strconv.FormatUint(n, 10))
		}
		slices.Sort(refs)
		one := TextRefs{"It called {call:0}, which did all.", append(refs[:min(len(refs), maxRefs-1)], "tx")}
		r, _ := Apply(c, &Answer{TxType: *c.Result.TxType, Confidence: api.High, Summary: "It called.", Steps: []TextRefs{one}}, NewIndex(c))
		for _, s := range c.Result.Steps {
			if !slices.Contains(r.Steps, s) {
				t.Errorf("%s: lost %q", hash, s)
			}
		}
		if len(r.Steps) != len(c.Result.Steps)+1 {
			t.Errorf("%s: %d steps of %d", hash, len(r.Steps), len(c.Result.Steps))
		}
	}
}
