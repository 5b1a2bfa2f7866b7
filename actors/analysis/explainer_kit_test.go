package analysis

import (
	"context"
	"math/big"
	"testing"
	"testing/synctest"
	"time"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hash = "0x00000000000000000000000000000000000000000000000000000000000000aa"

// world is a World of one plain transfer whose methods can be replaced one by one.
type world struct {
	gather.World
	probe   func(ctx context.Context) (*upstream.ProbeResult, error)
	tx      func(ctx context.Context) (*ethrpc.Transaction, error)
	receipt func(ctx context.Context) (*ethrpc.Receipt, error)
	trace   func(ctx context.Context) (*trace.Tree, error)
	prices  func(ctx context.Context) (map[common.Address]upstream.Price, error)
	sign    func(ctx context.Context) (*upstream.SignatureSet, error)
	call    func(ctx context.Context) ([]byte, error)
	block   func(ctx context.Context) (*ethrpc.Block, error)
}

func someTx() *ethrpc.Transaction {
	number, index := uint64(20_000_000), uint64(3)
	return &ethrpc.Transaction{Hash: common.HexToHash(hash), Type: 2, From: sender, To: &recipient, Gas: 21000, GasPrice: big.NewInt(2e9), Value: big.NewInt(1e18), BlockNumber: &number, Index: &index}
}

func someReceipt() *ethrpc.Receipt {
	one := uint64(1)
	return &ethrpc.Receipt{Status: &one, GasUsed: 21000, EffectiveGasPrice: big.NewInt(2e9)}
}

func newWorld() *world {
	return &world{
		probe: func(context.Context) (*upstream.ProbeResult, error) {
			ch, _ := chain.ByID(1)
			return &upstream.ProbeResult{Chain: ch}, nil
		},
		tx:      func(context.Context) (*ethrpc.Transaction, error) { return someTx(), nil },
		receipt: func(context.Context) (*ethrpc.Receipt, error) { return someReceipt(), nil },
		trace: func(context.Context) (*trace.Tree, error) {
			t := trace.FromReceipt(someTx(), someReceipt(), true)
			t.Source = trace.SourceDebug
			return t, nil
		},
		prices: func(context.Context) (map[common.Address]upstream.Price, error) {
			return map[common.Address]upstream.Price{{}: {USD: api.Decimal{Unscaled: big.NewInt(2000), Scale: 0}, Time: 1, Source: "test"}}, nil
		},
		sign: func(context.Context) (*upstream.SignatureSet, error) { return nil, nil },
		call: func(context.Context) ([]byte, error) { return nil, upstream.ErrNoState },
		block: func(context.Context) (*ethrpc.Block, error) {
			return &ethrpc.Block{Number: 20_000_000, Timestamp: 1_717_000_000, GasLimit: 30_000_000, BaseFee: big.NewInt(1e9), Withdrawals: -1}, nil
		},
	}
}

func (w *world) Probe(ctx context.Context, _ []*chain.Chain, _ common.Hash) (*upstream.ProbeResult, error) {
	return w.probe(ctx)
}

func (w *world) Transaction(ctx context.Context, _ *chain.Chain, _ common.Hash) (*ethrpc.Transaction, error) {
	return w.tx(ctx)
}

func (w *world) Receipt(ctx context.Context, _ *chain.Chain, _ common.Hash) (*ethrpc.Receipt, error) {
	return w.receipt(ctx)
}

func (w *world) Block(ctx context.Context, _ *chain.Chain, _ uint64, _ bool) (*ethrpc.Block, error) {
	return w.block(ctx)
}

func (w *world) DebugTrace(ctx context.Context, _ *chain.Chain, _ common.Hash, _ trace.Limits) (*trace.Tree, error) {
	return w.trace(ctx)
}

func (w *world) ParityTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return nil, upstream.ErrUnsupported
}

func (w *world) ReplayTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return nil, upstream.ErrUnsupported
}

func (w *world) OtterscanTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return nil, upstream.ErrUnsupported
}

func (w *world) ExplorerTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return nil, upstream.ErrNoEndpoint
}

func (w *world) StateDiff(context.Context, *chain.Chain, common.Hash) (*ethrpc.StateDiff, error) {
	return nil, upstream.ErrUnsupported
}

func (w *world) Balance(context.Context, *chain.Chain, common.Address, uint64) (*big.Int, error) {
	return nil, upstream.ErrNoState
}

func (w *world) Nonce(context.Context, *chain.Chain, common.Address, uint64) (uint64, error) {
	return 0, upstream.ErrNoState
}

func (w *world) Code(context.Context, *chain.Chain, common.Address, uint64) ([]byte, error) {
	return nil, upstream.ErrNoState
}

func (w *world) Storage(context.Context, *chain.Chain, common.Address, common.Hash, uint64) (common.Hash, error) {
	return common.Hash{}, upstream.ErrNoState
}

func (w *world) Call(ctx context.Context, _ *chain.Chain, _ common.Address, _ []byte, _ uint64) ([]byte, error) {
	return w.call(ctx)
}

func (w *world) Source(context.Context, *chain.Chain, common.Address) (*upstream.Source, error) {
	return nil, upstream.ErrNotFound
}

func (w *world) Signatures(ctx context.Context, _ [][4]byte, _ []common.Hash) (*upstream.SignatureSet, error) {
	return w.sign(ctx)
}

func (w *world) Prices(ctx context.Context, _ *chain.Chain, _ uint64, _ []common.Address) (map[common.Address]upstream.Price, error) {
	return w.prices(ctx)
}

func (w *world) Local(ctx context.Context, _, _ string, work func(context.Context) error) error {
	return work(ctx)
}

// virtual runs f in virtual time. Then it lets a second pass: a goroutine of the actor library ends
// one interval after the last message to an actor that was gone (actors/runtime).
func virtual(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(time.Second)
	})
}

func explainWith(t *testing.T, o Options, w *world, chainID uint64) (*api.Result, error) {
	t.Helper()
	x := New(o)
	defer x.Close()
	return x.Explain(context.Background(), Input{Request: api.Request{TxHash: hash, ChainID: chainID}, World: w, Meter: new(meter.Meter)})
}
