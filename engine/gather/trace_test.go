package gather

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// ladder is a World in which each rung answers as told.
type ladder struct {
	World
	debug, parity, state error
	diff                 error
	receiptGas           uint64
	notes                []string // that the last walk left
}

var (
	from = common.HexToAddress("0x1111111111111111111111111111111111111111")
	to   = common.HexToAddress("0x2222222222222222222222222222222222222222")
	hash = common.HexToHash("0xaa")
)

func (l *ladder) Transaction(context.Context, *chain.Chain, common.Hash) (*ethrpc.Transaction, error) {
	number, index := uint64(15_000_000), uint64(0)
	return &ethrpc.Transaction{Hash: hash, From: from, To: &to, Gas: 21000, GasPrice: big.NewInt(2e9), Value: big.NewInt(1), BlockNumber: &number, Index: &index}, nil
}

func (l *ladder) Receipt(context.Context, *chain.Chain, common.Hash) (*ethrpc.Receipt, error) {
	one := uint64(1)
	return &ethrpc.Receipt{Status: &one, GasUsed: l.receiptGas, EffectiveGasPrice: big.NewInt(2e9)}, nil
}

func (l *ladder) Block(_ context.Context, _ *chain.Chain, number uint64, full bool) (*ethrpc.Block, error) {
	b := &ethrpc.Block{Number: number, Timestamp: 1_656_000_000, GasLimit: 30_000_000, BaseFee: big.NewInt(1e9), Difficulty: big.NewInt(1), Withdrawals: -1}
	if full {
		tx, _ := l.Transaction(context.Background(), nil, hash)
		b.Transactions = []*ethrpc.Transaction{tx}
	}
	return b, nil
}

func (l *ladder) tree(err error, rung trace.Source) (*trace.Tree, error) {
	if err != nil {
		return nil, err
	}
	tx, _ := l.Transaction(context.Background(), nil, hash)
	t := trace.FromReceipt(tx, &ethrpc.Receipt{}, true)
	t.Source = rung
	return t, nil
}

func (l *ladder) DebugTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return l.tree(l.debug, trace.SourceDebug)
}

func (l *ladder) ParityTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return l.tree(l.parity, trace.SourceParity)
}

func (l *ladder) StateDiff(context.Context, *chain.Chain, common.Hash) (*ethrpc.StateDiff, error) {
	return nil, l.diff
}

func (l *ladder) Balance(context.Context, *chain.Chain, common.Address, uint64) (*big.Int, error) {
	return big.NewInt(1e18), l.state
}

func (l *ladder) Nonce(context.Context, *chain.Chain, common.Address, uint64) (uint64, error) {
	return 0, l.state
}

func (l *ladder) Code(context.Context, *chain.Chain, common.Address, uint64) ([]byte, error) {
	return nil, l.state
}

func (l *ladder) Storage(context.Context, *chain.Chain, common.Address, common.Hash, uint64) (common.Hash, error) {
	return common.Hash{}, l.state
}

func (l *ladder) Local(ctx context.Context, _, _ string, work func(context.Context) error) error {
	return work(ctx)
}

// TestLadder: which rung is reached, and whether what is missing is a failure.
func TestLadder(t *testing.T) {
	ch, _ := chain.ByID(1)
	broken := &upstream.Error{Op: "eth_secret", Source: "host.example", Kind: upstream.KindServer, Err: errors.New("HTTP status 500")}
	f := func(l *ladder, want trace.Source, wantFault bool, wantNote string) {
		t.Helper()
		defer func(notes *[]string) {
			for _, word := range []string{"example", "eth_", "debug_", "HTTP"} {
				if all := strings.Join(*notes, "\n"); strings.Contains(all, word) {
					t.Errorf("the notes tell %q: %s", word, all)
				}
			}
		}(&l.notes)
		if l.receiptGas == 0 {
			l.receiptGas = 21000
		}
		got, err := Trace(context.Background(), l, ch, hash, TraceOptions{})
		l.notes = got.Notes
		rung := trace.SourceReceipt
		if got.Tree != nil {
			rung = got.Tree.Source
		}
		if rung != want || (err != nil) != wantFault || !strings.Contains(strings.Join(got.Notes, "\n"), wantNote) {
			t.Errorf("reached %s, error %v, notes %q; want %s, fault %v, note %q", rung, err, got.Notes, want, wantFault, wantNote)
		}
	}
	no, unpaid := upstream.ErrUnsupported, &upstream.Error{Op: "debug_traceTransaction", Source: "host.example", Kind: upstream.KindPayment, Err: errors.New("HTTP status 402")}
	f(&ladder{diff: no}, trace.SourceDebug, false, "not held against the changes of state: the data provider does not offer it")
	f(&ladder{debug: no}, trace.SourceParity, false, "no call trace by the node's call tracer: the data provider does not offer it")
	f(&ladder{debug: &upstream.Error{Kind: upstream.KindRefused}, parity: no, state: upstream.ErrNoState}, trace.SourceReceipt, false, "refused")
	f(&ladder{debug: &upstream.Error{Kind: upstream.KindRejected}, parity: no, state: upstream.ErrNoState}, trace.SourceReceipt, true, "refused")
	f(&ladder{debug: unpaid, parity: no, state: upstream.ErrNoState}, trace.SourceReceipt, true, "could not pay its data provider")
	f(&ladder{debug: unpaid}, trace.SourceParity, false, "could not pay its data provider")
	f(&ladder{debug: broken}, trace.SourceParity, false, "not available at the moment")
	f(&ladder{debug: no, parity: no}, trace.SourceReplay, false, "no call trace by the node's flat traces")
	f(&ladder{debug: broken, parity: broken}, trace.SourceReplay, false, "not available at the moment")
	f(&ladder{debug: no, parity: no, state: upstream.ErrNoState}, trace.SourceReceipt, false, "no call trace by local re-execution: the data provider does not keep the state")
	f(&ladder{debug: no, parity: no, receiptGas: 12345}, trace.SourceReceipt, false, "does not reproduce the receipt: replay used 21000 gas")
	f(&ladder{debug: broken, parity: no, state: upstream.ErrNoState}, trace.SourceReceipt, true, "not available at the moment")
	f(&ladder{debug: no, parity: no, state: broken}, trace.SourceReceipt, true, "not available at the moment")
	f(&ladder{debug: no, parity: no, state: errors.New("secret.example: boom")}, trace.SourceReceipt, true, "local re-execution: internal error")
}
