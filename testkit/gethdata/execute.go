package gethdata

import (
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/eth/tracers/native"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// run is one execution on go-ethereum's own state and tracers, as a node does it.
type run struct {
	trace   json.RawMessage // callTracer withLog
	diff    json.RawMessage // prestateTracer diffMode
	touched types.GenesisAlloc
	receipt *types.Receipt
	after   *state.StateDB
}

// runTracers are run side by side.
var runTracers = []struct{ name, tracer, config string }{
	{"trace", "callTracer", `{"withLog":true}`},
	{"diff", "prestateTracer", `{"diffMode":true}`},
}

func (c *Case) execute() (*run, error) {
	db, reads, err := c.prestate()
	if err != nil {
		return nil, err
	}
	mux, err := c.tracers()
	if err != nil {
		return nil, err
	}
	receipt, err := c.apply(db, mux.Hooks)
	if err != nil {
		return nil, err
	}
	raw, err := mux.GetResult()
	if err != nil {
		return nil, fmt.Errorf("read tracers: %w", err)
	}
	var out struct{ Trace, Diff json.RawMessage }
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("read tracers: %w", err)
	}
	return &run{trace: out.Trace, diff: out.Diff, touched: reads.touched, receipt: receipt, after: db}, nil
}

// prestate is the recorded allocation in a database of go-ethereum, and the
// record of what is read from it.
func (c *Case) prestate() (*state.StateDB, *reads, error) {
	sdb := state.NewDatabaseForTesting()
	db, err := state.New(types.EmptyRootHash, sdb)
	if err != nil {
		return nil, nil, fmt.Errorf("open state: %w", err)
	}
	for a, acc := range c.alloc {
		db.SetCode(a, acc.Code, tracing.CodeChangeUnspecified)
		db.SetNonce(a, acc.Nonce, tracing.NonceChangeUnspecified)
		db.SetBalance(a, uint256.MustFromBig(acc.Balance), tracing.BalanceChangeUnspecified)
		for k, v := range acc.Storage {
			db.SetState(a, k, v)
		}
	}
	root, err := db.Commit(params.Rules{}, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("write prestate: %w", err)
	}
	reader, err := sdb.Reader(root)
	if err != nil {
		return nil, nil, fmt.Errorf("open prestate: %w", err)
	}
	r := &reads{Reader: reader, touched: make(types.GenesisAlloc)}
	db, err = state.NewWithReader(root, sdb, r)
	if err != nil {
		return nil, nil, fmt.Errorf("open prestate: %w", err)
	}
	return db, r, nil
}

// reads notes every account and slot that an execution looks at. Tracers miss
// some: an opcode that runs out of gas has read before it failed.
type reads struct {
	state.Reader
	touched types.GenesisAlloc // addresses and slots; values stay zero
}

func (r *reads) Account(a common.Address) (*types.StateAccount, error) {
	r.touch(a)
	return r.Reader.Account(a)
}

func (r *reads) Storage(a common.Address, slot common.Hash) (common.Hash, error) {
	r.touch(a).Storage[slot] = common.Hash{}
	return r.Reader.Storage(a, slot)
}

func (r *reads) touch(a common.Address) types.Account {
	acc, ok := r.touched[a]
	if !ok {
		acc.Storage = make(map[common.Hash]common.Hash)
		r.touched[a] = acc
	}
	return acc
}

func (c *Case) tracers() (*tracers.Tracer, error) {
	var names []string
	var objects []*tracers.Tracer
	for _, t := range runTracers {
		tracer, err := tracers.DefaultDirectory.New(t.tracer, new(tracers.Context), json.RawMessage(t.config), c.Config)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", t.tracer, err)
		}
		names, objects = append(names, t.name), append(objects, tracer)
	}
	return native.NewMuxTracer(names, objects)
}

func (c *Case) apply(db *state.StateDB, hooks *tracing.Hooks) (*types.Receipt, error) {
	ctx := c.vmContext()
	msg, err := core.TransactionToMessage(c.raw, c.signer(), ctx.BaseFee)
	if err != nil {
		return nil, fmt.Errorf("read transaction: %w", err)
	}
	hooked := state.NewHookedState(db, hooks)
	evm := vm.NewEVM(ctx, hooked, c.Config, vm.Config{Tracer: hooks})
	defer evm.Release()
	db.SetTxContext(c.raw.Hash(), 0, 1)
	hooks.OnTxStart(evm.GetVMContext(), c.raw, msg.From)
	res, err := core.ApplyMessage(evm, msg, nil)
	if err != nil {
		return nil, fmt.Errorf("execute transaction: %w", err)
	}
	hooks.OnTxEnd(&types.Receipt{GasUsed: res.UsedGas}, nil)
	hooked.Finalise(evm.GetRules())
	return core.MakeReceipt(evm, res, db, c.header.Number, c.header.Hash(), c.header.Time, c.raw, res.UsedGas, nil), nil
}

func (c *Case) vmContext() vm.BlockContext {
	h := c.header
	ctx := vm.BlockContext{
		CanTransfer: core.CanTransfer,
		Transfer:    core.Transfer,
		GetHash:     c.blockHash,
		Coinbase:    h.Coinbase,
		BlockNumber: h.Number,
		Time:        h.Time,
		Difficulty:  h.Difficulty,
		GasLimit:    h.GasLimit,
		BaseFee:     h.BaseFee,
	}
	if c.merged {
		ctx.Random = &h.MixDigest
	}
	if h.ExcessBlobGas != nil {
		ctx.BlobBaseFee = eip4844.CalcBlobFee(c.Config, h)
	}
	return ctx
}

// blockHash knows the parent alone.
func (c *Case) blockHash(number uint64) common.Hash {
	if number+1 == c.header.Number.Uint64() {
		return c.header.ParentHash
	}
	return common.Hash{}
}
