package replay

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/holiman/uint256"

	"txlens/engine/trace"
)

const (
	defaultTraceBytes = 128 << 20
	frameBytes        = 320 // bytes that a frame costs besides its data
)

// frameRecorder records calls as go-ethereum's callTracer does. callTracer itself is not
// used: it serialises level within level, which takes time quadratic in the depth (15 s for
// 1,024 nested frames) and cannot be stopped, and it keeps every frame even if the trace is
// compressed afterwards.
type frameRecorder struct {
	view *view
	gas  uint64 // limit of the transaction
	live *trace.Live
	seen int // bytes
	max  int
}

func newFrames(v *view, gas uint64, opt Options) *frameRecorder {
	f := &frameRecorder{view: v, gas: gas, live: trace.NewLive(opt.Limits), max: opt.MaxTraceBytes}
	if f.max <= 0 {
		f.max = defaultTraceBytes
	}
	return f
}

func (f *frameRecorder) hooks() *tracing.Hooks {
	return &tracing.Hooks{OnEnter: f.enter, OnExit: f.exit, OnLog: f.log}
}

// admit counts bytes. One frame may pass the same megabyte to thousands of calls for little
// gas, and each recorded call has a copy.
func (f *frameRecorder) admit(n int) bool {
	if f.seen += n; f.seen > f.max {
		f.view.fail(fmt.Errorf("%w: bound of %d bytes", ErrTraceTooLarge, f.max))
		return false
	}
	return true
}

var kinds = map[vm.OpCode]trace.Kind{
	vm.CALL: trace.Call, vm.STATICCALL: trace.StaticCall, vm.DELEGATECALL: trace.DelegateCall, vm.CALLCODE: trace.CallCode,
	vm.CREATE: trace.Create, vm.CREATE2: trace.Create2, vm.SELFDESTRUCT: trace.SelfDestruct,
}

func (f *frameRecorder) enter(depth int, typ byte, from, to common.Address, input []byte, gas uint64, value *big.Int) {
	if !f.admit(frameBytes + len(input)) {
		input = nil
	}
	kind, ok := kinds[vm.OpCode(typ)]
	if !ok {
		kind = trace.Unknown
	}
	if depth == 0 {
		gas = f.gas
	}
	var amount *uint256.Int
	if value != nil {
		amount, _ = uint256.FromBig(value)
	}
	if err := f.live.Enter(kind, from, to, amount, gas, input); err != nil {
		f.view.fail(fmt.Errorf("record call: %w", err))
	}
}

// exit closes a frame. An error that did not undo the frame is not recorded: before
// Homestead, a creation that could not pay for storing its code left an account without
// code and continued.
func (f *frameRecorder) exit(_ int, output []byte, gasUsed uint64, err error, reverted bool) {
	var failure, reason string
	if err != nil && reverted {
		failure = err.Error()
		if !errors.Is(err, vm.ErrExecutionReverted) {
			output = nil
		} else if len(output) >= 4 {
			reason, _ = abi.UnpackRevert(output)
		}
	}
	if !f.admit(len(output)) {
		output = nil
	}
	if err := f.live.Exit(output, gasUsed, failure, reason); err != nil {
		f.view.fail(fmt.Errorf("record call: %w", err))
	}
}

func (f *frameRecorder) log(l *types.Log) {
	if f.admit(frameBytes + len(l.Data)) {
		f.live.Log(l.Address, l.Topics, l.Data)
	}
}
