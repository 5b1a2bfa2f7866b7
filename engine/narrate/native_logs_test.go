package narrate_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// A coinScene is a cost scene of native coin; logs says whether its moves have the logs of
// EIP-7708: none, in the receipt alone, or in the trace too.
type coinScene struct {
	*costScene
	logs int
}

const (
	noLogs = iota
	receiptLogs
	allLogs
)

func newCoinScene(t *testing.T, logs int, to common.Address, wei uint64, input []byte) *coinScene {
	s := &coinScene{newCostScene(t, 1, to, input), logs}
	s.rc.GasUsed = 21000
	s.tx.Value = new(big.Int).SetUint64(wei)
	s.root.Value.SetUint64(wei)
	if wei > 0 {
		s.moved(s.root, scene.User, to, wei)
	}
	return s
}

func (s *coinScene) moved(in *trace.Frame, from, to common.Address, wei uint64) {
	if s.logs == receiptLogs {
		in = nil
	}
	if s.logs != noLogs && from != to {
		s.log(in, evmsig.NativeLogger, "Transfer(address,address,uint256)", []any{from, to}, int(wei))
	}
}

// send moves coin by a call.
func (s *coinScene) send(in *trace.Frame, from, to common.Address, wei uint64) *trace.Frame {
	f := s.call(in, from, to, wei, nil)
	s.moved(f, from, to, wei)
	return f
}

// coinScenes are transactions that move native coin.
var coinScenes = map[string]func(t *testing.T, logs int) *coinScene{
	"a plain send": func(t *testing.T, logs int) *coinScene {
		return newCoinScene(t, logs, scene.Vault, milliEther, nil)
	},
	"a message to an account": func(t *testing.T, logs int) *coinScene {
		s := newCoinScene(t, logs, scene.Vault, milliEther, []byte("hello there"))
		s.rc.GasUsed = 21000 + 11*16
		return s
	},
	"coin for an idle token": func(t *testing.T, logs int) *coinScene {
		s := newCoinScene(t, logs, scene.Usdc, milliEther, nil)
		s.rc.GasUsed = 23000
		return s
	},
	"a call of nothing": func(t *testing.T, logs int) *coinScene {
		s := newCoinScene(t, logs, crossApp, milliEther, scene.Input("withdraw(uint256)", 7))
		s.rc.GasUsed = 29000
		return s
	},
	"a payment by a contract": func(t *testing.T, logs int) *coinScene {
		s := newCoinScene(t, logs, crossApp, 0, scene.Input("claim()"))
		s.send(s.root, crossApp, scene.User, 5*milliEther)
		return s
	},
	"a payment to many": func(t *testing.T, logs int) *coinScene {
		s := newCoinScene(t, logs, crossApp, 9*milliEther, scene.Input("disperse()"))
		for i := range uint16(3) {
			s.send(s.root, crossApp, scene.Addr(0x5000+i), 3*milliEther)
		}
		return s
	},
	"coin for a token": func(t *testing.T, logs int) *coinScene {
		s := newCoinScene(t, logs, crossApp, 5*milliEther, scene.Input("buy()"))
		s.send(s.root, crossApp, scene.Vault, 4*milliEther)
		s.transfer(s.root, scene.Usdc, scene.Vault, scene.User, 12_000_000)
		s.send(s.root, crossApp, scene.User, milliEther)
		return s
	},
	"a token for coin": func(t *testing.T, logs int) *coinScene {
		s := newCoinScene(t, logs, crossApp, 0, scene.Input("sell()"))
		s.transfer(s.root, scene.Usdc, scene.User, scene.Vault, 12_000_000)
		s.send(s.root, scene.Vault, crossApp, 4*milliEther)
		s.send(s.root, crossApp, scene.User, 4*milliEther)
		return s
	},
}

// The logs of EIP-7708 repeat what the frames show: everything is told as without them, and the
// system address is neither a token nor a party.
func TestNativeLogs(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(coinScenes)) {
		make := coinScenes[name]
		plain := make(t, noLogs)
		a, v, told := plain.judge()
		for _, logs := range []int{allLogs, receiptLogs} {
			b, w, got := make(t, logs).judge()
			if logs == receiptLogs { // the trace does not say where the log stands among the calls
				told.Steps, got.Steps = slices.Sorted(slices.Values(told.Steps)), slices.Sorted(slices.Values(got.Steps))
			}
			if *v.TxType != *w.TxType || v.Confidence != w.Confidence || told.Summary != got.Summary || strings.Join(told.Steps, "\n") != strings.Join(got.Steps, "\n") {
				t.Errorf("%s with logs %d:\n%s %s: %s\n%s\nwithout:\n%s %s: %s\n%s", name, logs, *w.TxType, w.Confidence, got.Summary, strings.Join(got.Steps, "\n"),
					*v.TxType, v.Confidence, told.Summary, strings.Join(told.Steps, "\n"))
			}
			if r, q := fmt.Sprint(v.Risks), fmt.Sprint(w.Risks); r != q {
				t.Errorf("%s with logs %d: risks %s, without %s", name, logs, q, r)
			}
			if len(a.Flow.Transfers) != len(b.Flow.Transfers) || len(a.Flow.Moves) != len(b.Flow.Moves) {
				t.Errorf("%s with logs %d: transfers %v, moves %v", name, logs, b.Flow.Transfers, b.Flow.Moves)
			}
		}
	}
}

// Without a trace the logs tell every move of the coin, each in one step.
func TestNativeLogsWithoutTrace(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(coinScenes)) {
		make := coinScenes[name]
		plain, v, want := make(t, noLogs).judge()
		s := make(t, allLogs)
		s.flat = true
		flat, w, told := s.judge()
		if !flat.Flow.Complete || !slices.EqualFunc(plain.Flow.Moves, flat.Flow.Moves, sameMove) {
			t.Errorf("%s: complete %v, moves %v, want %v", name, flat.Flow.Complete, flat.Flow.Moves, plain.Flow.Moves)
		}
		if name == "a call of nothing" { // only a trace shows that nothing ran
			continue
		}
		// Only the order of the steps may differ: no call says where in it the coin moved.
		slices.Sort(told.Steps)
		slices.Sort(want.Steps)
		if *v.TxType != *w.TxType || told.Summary != want.Summary || !slices.Equal(told.Steps, want.Steps) {
			t.Errorf("%s: %s: %s\n%s\nwith a trace:\n%s: %s\n%s", name, *w.TxType, told.Summary, strings.Join(told.Steps, "\n"),
				*v.TxType, want.Summary, strings.Join(want.Steps, "\n"))
		}
	}
}

func sameMove(a, b flow.Move) bool {
	return a.From == b.From && a.To == b.To && a.Kind == b.Kind && a.Amount.Cmp(b.Amount) == 0
}
