package decode

import (
	"bytes"

	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// maxProxies bounds the chain of proxies before an implementation.
const maxProxies = 3

// call decodes one frame; nil when there is nothing to decode.
func (d *Decoder) call(f *trace.Frame) *Call {
	switch f.Kind {
	case trace.Create, trace.Create2:
		return d.constructor(f)
	case trace.SelfDestruct, trace.Unknown:
		return nil
	}
	if c := d.precompile(f); c != nil {
		return c
	}
	if len(f.Input) < 4 {
		return d.shortInput(f)
	}
	if d.plainTransfer(f) {
		return nil
	}
	c := &Call{Selector: [4]byte(f.Input[:4]), HasSelector: true}
	key := tableKey{signature.Func, selectorKey(c.Selector)}
	var codes [maxProxies + 2]code
	var named *candidate // by an ABI that the calldata does not fit
	for _, code := range d.codes(f, codes[:0]) {
		for _, s := range code.find(key) {
			cand := candidate{s, code.from}
			if d.fill(c, cand, f, cand.mode()) {
				return c
			}
			if named == nil {
				named = &cand
			}
		}
	}
	if named != nil && d.fill(c, *named, f, repaired) {
		return c
	}
	if named != nil {
		c.Name, c.Signature, c.Provenance, c.Source, c.Note = named.Name, named.Text, named.from, named.Source, NoteUnreadable
		return c
	}
	fallback := d.fallback(f)
	for _, cand := range d.known(key) {
		if cand.mode() == exact && fallback != nil {
			break
		}
		if d.fill(c, cand, f, cand.mode()) {
			return c
		}
	}
	if fallback != nil {
		c.Name, c.Signature, c.Provenance, c.Source = "fallback", "fallback()", FromVerified, fallback.Source
	}
	return c
}

// fallback returns the verified contract whose fallback handled a call with an unlisted
// selector; nil when the contract has none, or is a proxy with unknown code behind it.
// Names from unverified sources do not change that.
func (d *Decoder) fallback(f *trace.Frame) *verified {
	v := d.contract(f.To)
	if v == nil || !v.ABI.HasFallback() || delegate(f) != nil || v.Implementation != nil {
		return nil
	}
	return v
}

// fill decodes the frame with one candidate.
func (d *Decoder) fill(c *Call, cand candidate, f *trace.Frame, m mode) bool {
	args, note, ok := d.vals.read(cand.Inputs, cand.Head, f.Input[4:], m)
	if !ok {
		return false
	}
	c.Name, c.Signature, c.Args = cand.Name, cand.Text, args
	c.Provenance, c.Source, c.Note = cand.from, cand.Source, note
	if len(cand.Outputs) > 0 && f.Err == "" && len(f.Output) > 0 {
		if out, _, ok := d.vals.read(cand.Outputs, cand.OutHead, f.Output, exact); ok {
			c.Outputs = out
		}
	}
	return true
}

// code is a verified contract whose code a frame ran.
type code struct {
	*verified
	from Provenance
}

// codes returns the verified ABIs that may describe a frame: first of the implementation
// that the trace shows, then of its own address, then of the implementation that a source
// service reports.
func (d *Decoder) codes(f *trace.Frame, out []code) []code {
	if len(d.src.Contracts) == 0 {
		return out
	}
	var behind [maxProxies]common.Address
	n := 0
	for g := delegate(f); g != nil && n < maxProxies; g = delegate(g) {
		behind[n] = g.To
		n++
	}
	for i := n - 1; i >= 0; i-- { // the innermost ran the function
		if v := d.contract(behind[i]); v != nil {
			out = append(out, code{v, FromVerifiedImpl})
		}
	}
	return d.codesAt(f.To, out)
}

// codesAt returns the ABIs of an address and of its reported implementations.
func (d *Decoder) codesAt(a common.Address, out []code) []code {
	from := FromVerified
	for range maxProxies + 1 {
		if v := d.contract(a); v != nil {
			out = append(out, code{v, from})
		}
		c := d.src.Contracts[a]
		if c == nil || c.Implementation == nil || *c.Implementation == a {
			break
		}
		a, from = *c.Implementation, FromVerifiedImpl
	}
	return out
}

// delegate returns the child through which a proxy ran its implementation: a DELEGATECALL
// with exactly the proxy's input. Beacon proxies ask the beacon before, so it need not be
// the first child.
func delegate(f *trace.Frame) *trace.Frame {
	for _, c := range f.Children[:min(len(f.Children), 8)] {
		if c.Kind == trace.DelegateCall && c.To != f.To && (bytes.Equal(c.Input, f.Input) || appended(f.Input, c.Input)) {
			return c
		}
	}
	return nil
}

// appended recognises the input that a clone with immutable arguments passes on: its own
// input, the arguments, and their length in two bytes, these two counted or not.
func appended(own, passed []byte) bool {
	n := len(passed) - len(own)
	if n < 2 || len(own) < 4 || !bytes.HasPrefix(passed, own) {
		return false
	}
	said := int(passed[len(passed)-2])<<8 | int(passed[len(passed)-1])
	return said == n || said == n-2
}

// shortInput names a call with fewer than four bytes of input: receive or fallback of
// whichever the ABI has, else receive if code is known to run there.
func (d *Decoder) shortInput(f *trace.Frame) *Call {
	var buf [maxProxies + 2]code
	for _, code := range d.codes(f, buf[:0]) {
		name := ""
		switch {
		case len(f.Input) == 0 && code.ABI.HasReceive():
			name = "receive"
		case code.ABI.HasFallback():
			name = "fallback"
		default:
			continue
		}
		return &Call{Name: name, Signature: name + "()", Args: []api.Arg{}, Provenance: code.from, Source: code.Source}
	}
	if n, ok := smallAddress(f.To); ok && precompiles[n].Signature != nil {
		return nil // no code stands there that could have a receive function
	}
	if len(f.Input) == 0 && d.live[f.To] {
		return &Call{Name: "receive", Signature: "receive()", Args: []api.Arg{}, Provenance: FromBuiltin}
	}
	return nil
}

// executedAddresses returns the addresses whose code is known to have run: they called,
// logged, returned data, used gas of their own or were created.
func executedAddresses(tree *trace.Tree) map[common.Address]bool {
	live := make(map[common.Address]bool)
	for _, f := range tree.Frames {
		switch f.Kind {
		case trace.Create, trace.Create2:
			if f.HasTo && f.Err == "" && len(f.Output) > 0 {
				live[f.To] = true
			}
		case trace.SelfDestruct, trace.Unknown:
		default:
			if executed(f) || f.GasUsed > 0 && f.Depth > 0 {
				live[f.To] = true
			}
		}
	}
	return live
}

func executed(f *trace.Frame) bool {
	return len(f.Children) > 0 || f.Logged() || len(f.Markers) > 0 || len(f.Output) > 0
}

// plainTransfer reports whether a frame with input reached no code: a text in the input of
// a transfer must not be decoded as a call. Gas shows it: an account without code uses
// none, and a transaction to it costs exactly the intrinsic gas (21,000 and the calldata,
// at the price of its fork). Where the code was asked for, that decides.
func (d *Decoder) plainTransfer(f *trace.Frame) bool {
	if executed(f) || f.Err != "" || d.live[f.To] || f.Kind == trace.DelegateCall {
		return false
	}
	if v := d.contract(f.To); v != nil {
		return false
	}
	if f.Depth > 0 {
		return f.GasUsed == 0
	}
	if d.src.Codeless != nil {
		return *d.src.Codeless
	}
	zeros := uint64(bytes.Count(f.Input, []byte{0}))
	rest := uint64(len(f.Input)) - zeros
	switch f.GasUsed {
	case 0, // the parity style leaves the intrinsic gas out
		21000 + 4*zeros + 16*rest,  // EIP-2028
		21000 + 4*zeros + 68*rest,  // before it
		21000 + 10*zeros + 40*rest: // floor of EIP-7623
		return true
	}
	return false
}
