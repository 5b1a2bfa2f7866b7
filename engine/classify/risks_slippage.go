package classify

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// minima are the least outputs that a call of a router asks for: those of its swaps, and
// those of the payments that end it, which bound what all swaps together must give.
type minima struct {
	swaps int
	most  *big.Int
}

func (m *minima) add(data []byte, word int, swap bool) {
	w := evmsig.Word(data, word)
	if w == nil {
		return
	}
	if swap {
		m.swaps++
	}
	if n := new(big.Int).SetBytes(w); m.most == nil || n.Cmp(m.most) > 0 {
		m.most = n
	}
}

// riskSlippage: a router call by the actor that accepts any output.
func riskSlippage(a *Reading) []verdict.Risk {
	if a.frame == nil || a.frame.Status != trace.OK {
		return nil
	}
	m := &minima{}
	a.minimaOf(m, a.frame)
	for _, f := range a.frame.Children { // multicall: the router calls itself
		if f.Kind == trace.DelegateCall && f.To == a.frame.To {
			a.minimaOf(m, f)
		}
	}
	if m.swaps == 0 || m.most.Cmp(common.Big1) > 0 {
		return nil
	}
	return []verdict.Risk{flag(verdict.NoSlippageLimit, verdict.AcceptsAnyOutput)}
}

// Payments of Uniswap's routers that end a multicall, with the word of their minimum.
var closing = map[[4]byte]int{
	evmsig.SelUnwrapWETH:    0,
	evmsig.SelUnwrapWETHOwn: 0,
	evmsig.SelSweepToken:    1,
	evmsig.SelSweepTokenOwn: 1,
}

// Entries of Uniswap's Universal Router.
var commanded = map[[4]byte]bool{evmsig.SelExecuteUntil: true, evmsig.SelExecute: true}

func (a *Reading) minimaOf(m *minima, f *trace.Frame) {
	if len(f.Input) < 4 {
		return
	}
	sel, data := [4]byte(f.Input[:4]), f.Input[4:]
	if word, ok := closing[sel]; ok {
		m.add(data, word, false)
	}
	if commanded[sel] {
		m.commands(data)
		return
	}
	if c := a.reg.call(f.Input); c != nil && c.minOut >= 0 {
		m.add(data, c.minOut, true)
	}
}

// Commands of the Universal Router, and actions of its swaps on v4, that name a minimum
// (Commands.sol and Actions.sol of Uniswap).
const (
	cmdV3ExactIn   = 0x00
	cmdSweep       = 0x04
	cmdV2ExactIn   = 0x08
	cmdUnwrap      = 0x0c
	cmdV4Swap      = 0x10
	v4ExactSingle  = 0x06
	v4ExactIn      = 0x07
	v4TakeAll      = 0x0f
	maxRouterSteps = 64
)

// commands reads (bytes commands, bytes[] inputs, ...).
func (m *minima) commands(data []byte) {
	list, inputs := bytesAt(data, 0), offsetAt(data, 1)
	for i := 0; i < len(list) && i < maxRouterSteps; i++ {
		in := elementAt(inputs, i)
		switch list[i] & 0x3f {
		case cmdV3ExactIn, cmdV2ExactIn: // (recipient, amountIn, amountOutMin, path, payer)
			m.add(in, 2, true)
		case cmdSweep: // (token, recipient, amountMin)
			m.add(in, 2, false)
		case cmdUnwrap: // (recipient, amountMin)
			m.add(in, 1, false)
		case cmdV4Swap:
			m.actions(in)
		}
	}
}

// actions reads (bytes actions, bytes[] params).
func (m *minima) actions(data []byte) {
	list, params := bytesAt(data, 0), offsetAt(data, 1)
	for i := 0; i < len(list) && i < maxRouterSteps; i++ {
		in := elementAt(params, i)
		switch list[i] {
		case v4ExactSingle: // ((poolKey of 5 words, zeroForOne, amountIn, amountOutMinimum, hookData))
			m.add(offsetAt(in, 0), 7, true)
		case v4ExactIn: // ((currencyIn, path, amountIn, amountOutMinimum))
			m.add(offsetAt(in, 0), 3, true)
		case v4TakeAll: // (currency, minAmount)
			m.add(in, 1, false)
		}
	}
}

// offsetAt is what stands where a word of ABI data points to; nil when that is outside.
func offsetAt(data []byte, word int) []byte {
	w := evmsig.Word(data, word)
	if w == nil {
		return nil
	}
	n := new(big.Int).SetBytes(w)
	if !n.IsUint64() || n.Uint64() > uint64(len(data)) {
		return nil
	}
	return data[n.Uint64():]
}

// bytesAt is the byte string that a word of ABI data points to.
func bytesAt(data []byte, word int) []byte { return counted(offsetAt(data, word)) }

// elementAt is an element of an array of byte strings.
func elementAt(array []byte, i int) []byte {
	if len(array) < 32 {
		return nil
	}
	if n := new(big.Int).SetBytes(array[:32]); !n.IsUint64() || uint64(i) >= n.Uint64() {
		return nil
	}
	return counted(offsetAt(array[32:], i))
}

// counted cuts a byte string by the length before it.
func counted(b []byte) []byte {
	if len(b) < 32 {
		return nil
	}
	n := new(big.Int).SetBytes(b[:32])
	if !n.IsUint64() || n.Uint64() > uint64(len(b)-32) {
		return nil
	}
	return b[32 : 32+n.Uint64()]
}
