package check

import (
	"math/big"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// lossOfCoin is an inspection in which a victim paid so many wei of those that it had; a coin
// has a price in cents, none if 0.
func lossOfCoin(had, lost, cents int64) (*inspection, *broken) {
	ch, _ := chain.ByID(1)
	victim, thief := common.Address{0xaa}, common.Address{0xbb}
	in := &facts.Input{Chain: ch, Tx: &ethrpc.Transaction{From: thief}, Receipt: &ethrpc.Receipt{}, Flow: &flow.Flow{}}
	if had > 0 {
		in.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{victim: {Balance: big.NewInt(had)}}}
	}
	root := &trace.Frame{Kind: trace.Call, From: thief, To: victim, HasTo: true, Status: trace.OK}
	in.Tree = &trace.Tree{Root: root, Frames: []*trace.Frame{root}, Source: trace.SourceDebug}
	in.Flow.Moves = []flow.Move{{Kind: flow.MoveCall, From: victim, To: thief, Amount: big.NewInt(lost)}}
	in.Succeeded = true
	l := newInspection(&Input{Case: facts.Read(in)})
	if cents > 0 {
		l.Prices = map[common.Address]api.Decimal{{}: {Unscaled: big.NewInt(cents), Scale: 2}}
	}
	return l, &broken{victims: []common.Address{victim}, lost: []flow.TokenKey{{}}}
}

// TestLossSeverity: both sides of each part of what the victim held, and of each value in
// dollars, from which a loss is graver.
func TestLossSeverity(t *testing.T) {
	part := func(want api.Severity, had, lost int64) {
		t.Helper()
		l, b := lossOfCoin(had, lost, 1) // worth nothing
		if got := l.severity(b); got != want {
			t.Errorf("%d of %d: %s, want %s", lost, had, got, want)
		}
	}
	part(api.SeverityLow, 1000, 99)
	part(api.SeverityHigh, 1000, 100)
	part(api.SeverityHigh, 1000, 499)
	part(api.SeverityCritical, 1000, 500)
	part(api.SeverityLow, 0, 500) // what it held is not known

	const coin = 1_000_000_000_000_000_000
	worth := func(want api.Severity, cents int64) {
		t.Helper()
		l, b := lossOfCoin(0, coin, cents)
		if got := l.severity(b); got != want {
			t.Errorf("%d cents: %s, want %s", cents, got, want)
		}
	}
	worth(api.SeverityMedium, 0) // not known
	worth(api.SeverityLow, 99_999)
	worth(api.SeverityMedium, 100_000)
	worth(api.SeverityMedium, 4_999_999)
	worth(api.SeverityHigh, 5_000_000)
	worth(api.SeverityHigh, 99_999_999)
	worth(api.SeverityCritical, 100_000_000)

	l, b := lossOfCoin(1000, 1, 1)
	b.control = true
	if got := l.severity(b); got != api.SeverityCritical {
		t.Errorf("with control: %s", got)
	}
}

// TestFurther: a rate has moved where it is off by more than 5 %, up or down.
func TestFurther(t *testing.T) {
	f := func(want bool, a, b int64) {
		t.Helper()
		if got := further(big.NewInt(a), big.NewInt(b)); got != want {
			t.Errorf("%d and %d: %v, want %v", a, b, got, want)
		}
	}
	f(false, 1000, 1000)
	f(false, 1050, 1000)
	f(false, 1000, 1050)
	f(true, 1051, 1000)
	f(true, 1000, 1051)
	f(false, 0, 1000)
	f(false, 1000, 0)
	f(false, -1000, 1000)
}
