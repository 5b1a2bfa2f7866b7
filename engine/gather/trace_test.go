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
	replayed, listed     error // nil: upstream.ErrUnsupported
	explorer             error // nil: upstream.ErrNoEndpoint
	amend                func(*trace.Tree)
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

// errNone makes a source that is otherwise absent answer.
var errNone = errors.New("errNone")

// other is a source that only some have.
func (l *ladder) other(told, absent error, rung trace.Source) (*trace.Tree, error) {
	if told == nil {
		return nil, absent
	}
	if told == errNone {
		told = nil
	}
	t, err := l.tree(told, rung)
	if t != nil && l.amend != nil {
		l.amend(t)
	}
	return t, err
}

func (l *ladder) ReplayTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return l.other(l.replayed, upstream.ErrUnsupported, trace.SourceReplayed)
}

func (l *ladder) OtterscanTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return l.other(l.listed, upstream.ErrUnsupported, trace.SourceOtterscan)
}

func (l *ladder) ExplorerTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return l.other(l.explorer, upstream.ErrNoEndpoint, trace.SourceExplorer)
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

	// Sources between the node's own trace and the local re-execution.
	with := func(l ladder, amend func(*trace.Tree)) *ladder { l.debug, l.parity, l.amend = no, no, amend; return &l }
	pays := func(t *trace.Tree) {
		child := &trace.Frame{Kind: trace.Call, From: to, To: from, HasTo: true}
		child.Value.SetUint64(5)
		t.Root.Children = append(t.Root.Children, child)
		t.Finish()
	}
	calls := func(t *trace.Tree) { pays(t); t.Frames[1].Value.Clear() }
	fails := func(t *trace.Tree) { t.Root.Err = "execution reverted"; t.Finish() }
	other := func(t *trace.Tree) { t.Root.To = from }
	f(with(ladder{replayed: errNone}, nil), trace.SourceReplayed, false, "")
	f(with(ladder{replayed: broken, listed: errNone}, nil), trace.SourceOtterscan, false, "no call trace by the node's own re-execution: the data provider is not available")
	f(with(ladder{listed: errNone}, calls), trace.SourceOtterscan, false, "does not say which calls failed")
	f(with(ladder{listed: errNone, explorer: errNone}, nil), trace.SourceOtterscan, false, "has no gas")
	f(with(ladder{listed: errNone}, pays), trace.SourceReplay, false, "would have moved coins")
	f(with(ladder{explorer: errNone}, pays), trace.SourceExplorer, false, "a block explorer (Blockscout) says, not a node")
	f(with(ladder{explorer: errNone}, fails), trace.SourceReplay, false, "ends in a failure, the receipt in success")
	f(with(ladder{replayed: errNone}, fails), trace.SourceReplay, false, "ends in a failure, the receipt in success")
	f(with(ladder{explorer: errNone}, other), trace.SourceReplay, false, "no call trace by the block explorer: the trace is not of this transaction")
	f(with(ladder{explorer: broken}, nil), trace.SourceReplay, false, "no call trace by the block explorer: the data provider is not available")
	f(with(ladder{explorer: broken, state: upstream.ErrNoState}, nil), trace.SourceReceipt, false, "block explorer")
	f(with(ladder{replayed: broken, state: upstream.ErrNoState}, nil), trace.SourceReceipt, true, "own re-execution")
	f(with(ladder{explorer: &upstream.Error{Kind: upstream.KindNotFound}}, nil), trace.SourceReplay, false, "the block explorer: the data provider does not have it")
}

// TestAbsentSources: what does not exist, is off or was not recorded leaves no note, so old
// recordings give the same bytes.
func TestAbsentSources(t *testing.T) {
	ch, _ := chain.ByID(1)
	f := func(replayed, listed, explorer error) {
		t.Helper()
		l := &ladder{debug: upstream.ErrUnsupported, parity: upstream.ErrUnsupported, replayed: replayed, listed: listed, explorer: explorer, receiptGas: 21000}
		got, err := Trace(context.Background(), l, ch, hash, TraceOptions{})
		if err != nil || got.Tree == nil || got.Tree.Source != trace.SourceReplay || len(got.Errors) != 2 {
			t.Fatalf("%v, %+v", err, got)
		}
		for _, note := range got.Notes {
			if strings.Contains(note, "explorer") || strings.Contains(note, "Otterscan") || strings.Contains(note, "own re-execution") {
				t.Errorf("note %q", note)
			}
		}
	}
	kind := func(k upstream.Kind) error { return &upstream.Error{Kind: k} }
	f(nil, nil, nil)
	f(kind(upstream.KindUnsupported), kind(upstream.KindUnsupported), kind(upstream.KindSourcesOff))
	f(kind(upstream.KindNotRecorded), kind(upstream.KindNotRecorded), kind(upstream.KindNotRecorded))
	f(kind(upstream.KindNoEndpoint), kind(upstream.KindNoEndpoint), kind(upstream.KindNoEndpoint))
}
