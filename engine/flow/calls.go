package flow

import (
	"bytes"

	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// calls derives token transfers from successful calls. It replaces the logs if they are not
// available: flat traces have none. Movements without a call, such as some mints and burns,
// are missed.
func (c *computation) calls() {
	if c.Tree == nil || !c.Succeeded {
		return
	}
	for _, f := range c.Tree.Frames {
		if f.Status != trace.OK || f.Kind != trace.Call || !f.HasTo {
			continue
		}
		if t, v, ok := c.callTransfer(f); ok {
			t.Token, t.Log, t.Call = f.To, len(c.out.Transfers), f.Index
			t.Standard = ERC20
			c.transfer(t, nil, &v)
		}
	}
	if len(c.out.Transfers) > 0 {
		c.note("without logs the token movements are those that calls asked for; mints and burns do not show")
	}
}

// callTransfer reads one call as a transfer that its token performed.
func (c *computation) callTransfer(f *trace.Frame) (t Transfer, v uint256.Int, ok bool) {
	if w := c.Chain.WrappedNative; w != nil && f.To == *w && f.Status == trace.OK {
		switch {
		case len(f.Input) == 0 && !f.Value.IsZero(), evmsig.SelDeposit.Begins(f.Input) && !f.Value.IsZero():
			t.To, t.Wrap = f.From, true
			return t, f.Value, true
		case evmsig.SelWithdraw.Begins(f.Input) && len(f.Input) >= 36:
			t.From, t.Wrap = f.From, true
			v.SetBytes32(f.Input[4:36])
			return t, v, !v.IsZero()
		}
	}
	if !granted(f.Output) || forwarded(f) {
		return t, v, false
	}
	switch {
	case evmsig.SelTransfer.Begins(f.Input) && len(f.Input) >= 68:
		t.From = f.From
		t.To, ok = evmsig.Address(f.Input[4:36])
		v.SetBytes32(f.Input[36:68])
	case evmsig.SelTransferFrom.Begins(f.Input) && len(f.Input) >= 100:
		t.From, t.To, ok = parties(f.Input[4:36], f.Input[36:68])
		v.SetBytes32(f.Input[68:100])
	}
	return t, v, ok && !v.IsZero()
}

// granted reports whether a token accepted a transfer: by EIP-20 it returns true, old
// tokens return nothing.
func granted(output []byte) bool {
	return len(output) < 32 || !bytes.Equal(output[:32], make([]byte, 32))
}

// forwarded reports whether a call repeats that of its caller: a token behind a proxy is
// called twice for one transfer, with the same arguments.
func forwarded(f *trace.Frame) bool {
	p := f.Parent
	return p != nil && p.Kind == trace.Call && len(f.Input) >= 68 && bytes.Equal(p.Input, f.Input) && f.To != (common.Address{})
}
