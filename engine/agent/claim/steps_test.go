package claim

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/assemble/recorded"
)

// TestMergedSteps: a step of the rules goes only for one of the model that says all of
// it, and what is left of both stands in the order of the transaction.
func TestMergedSteps(t *testing.T) {
	c := exploitCase(t)
	const (
		called  = "0x1111…1111 called function 0xdeadbeef of 0x2222…2222."
		paidIn  = "0x2222…2222 sent 100 USDC to SavingsVault."
		paidOut = "SavingsVault sent 5,000 USDC to 0x2222…2222."
		fee     = "0x1111…1111 paid a fee of 0.000063 ETH."
	)
	if !slices.Equal(c.Result.Steps, []string{called, paidIn, paidOut, fee}) {
		t.Fatalf("%q", c.Result.Steps)
	}
	f := func(own []Said, want ...string) {
		t.Helper()
		r, _ := Apply(c, &Answer{TxType: *c.Result.TxType, Confidence: api.High, Summary: "It called.", Steps: own}, NewIndex(c))
		if !slices.Equal(r.Steps, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(r.Steps, "\n"), strings.Join(want, "\n"))
		}
	}
	f(nil, called, paidIn, paidOut, fee)
	// One step of the model does not make those of the rules go.
	f([]Said{{"It called the contract.", []string{"tx"}}}, called, "It called the contract.", paidIn, paidOut, fee)
	// Pointing to a place is not enough, nor is giving its numbers.
	f([]Said{{"It moved something.", []string{"log:40", "log:41"}}}, called, paidIn, "It moved something.", paidOut, fee)
	f([]Said{{"SavingsVault sent 5,000 USDC to 0x2222…2222.", []string{"log:40"}}}, called, paidIn, paidOut, fee) // the same text
	f([]Said{{"SavingsVault has sent 5,000 USDC to 0x2222…2222.", []string{"log:40"}}}, called, paidIn, "SavingsVault has sent 5,000 USDC to 0x2222…2222.", paidOut, fee)
	// One that says all of it covers it, with the number in another form, the address in
	// full, and the frame of the log.
	f([]Said{{"The vault SavingsVault then paid 5000.0 USDC to " + wielder + ".", []string{"log:41"}}}, called, paidIn, "The vault SavingsVault then paid 5000.0 USDC to "+wielder+".", fee)
	f([]Said{{"SavingsVault took 100 USDC from 0x2222…2222.", []string{"frame:0.0.0"}}}, called, "SavingsVault took 100 USDC from 0x2222…2222.", paidOut, fee)
	f([]Said{{"SavingsVault took 101 USDC from 0x2222…2222.", []string{"frame:0.0.0"}}}, called, paidIn, paidOut, fee) // false, and so gone
	again := "It is 0x1111…1111 that called function 0xdeadbeef of 0x2222…2222."
	f([]Said{{again, []string{"frame:0"}}}, again, paidIn, paidOut, fee)
	f([]Said{{again, []string{"frame:0.0.1"}}}, called, paidIn, again, paidOut, fee) // of another place
	all := "0x1111…1111 had 0x2222…2222 (by 0xdeadbeef) send 100 USDC to SavingsVault and take 5,000 USDC for a fee of 0.000063 ETH."
	f([]Said{{all, []string{"tx", "log:40", "log:41"}}}, all)
	// Those of the model keep their order.
	f([]Said{{"It withdrew first.", []string{"log:41"}}, {"It deposited then.", []string{"log:40"}}}, called, paidIn, paidOut, "It withdrew first.", "It deposited then.", fee)
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
		one := Said{"It called the contract, which did all.", append(refs[:min(len(refs), maxRefs-1)], "tx")}
		r, _ := Apply(c, &Answer{TxType: *c.Result.TxType, Confidence: api.High, Summary: "It called.", Steps: []Said{one}}, NewIndex(c))
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
