package decode

import (
	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"
	"txlens/engine/trace"
)

// precompiled is a contract without code at a reserved address. Its input is not
// ABI-encoded; if it is a sequence of words it can be decoded as arguments.
type precompiled struct {
	*signature.Signature
	raw bool // the input is one byte string, else the words of the declaration
}

func words(decl string) precompiled { return precompiled{builtin(decl).Signature, false} }

func raw(name string) precompiled { return precompiled{builtin(name + "(bytes data)").Signature, true} }

// precompiles by address. Sources: the Yellow Paper (1-4), EIP-198, 196, 197, 152,
// 4844, 2537 and RIP-7212 (also EIP-7951).
var precompiles = map[uint64]precompiled{
	0x01:  words("ecrecover(bytes32 hash,uint256 v,bytes32 r,bytes32 s)"),
	0x02:  raw("sha256"),
	0x03:  raw("ripemd160"),
	0x04:  raw("identity"),
	0x05:  raw("modexp"),
	0x06:  words("ecAdd(uint256 x1,uint256 y1,uint256 x2,uint256 y2)"),
	0x07:  words("ecMul(uint256 x,uint256 y,uint256 s)"),
	0x08:  raw("ecPairing"),
	0x09:  raw("blake2f"),
	0x0a:  words("pointEvaluation(bytes32 versionedHash,uint256 z,uint256 y)"),
	0x0b:  raw("bls12G1Add"),
	0x0c:  raw("bls12G1MSM"),
	0x0d:  raw("bls12G2Add"),
	0x0e:  raw("bls12G2MSM"),
	0x0f:  raw("bls12PairingCheck"),
	0x10:  raw("bls12MapFpToG1"),
	0x11:  raw("bls12MapFp2ToG2"),
	0x100: words("p256Verify(bytes32 hash,uint256 r,uint256 s,uint256 x,uint256 y)"),
}

// precompile names a call to a precompile; nil when the address is none, or when the fork
// that added it may not be active.
func (d *Decoder) precompile(f *trace.Frame) *Call {
	n, ok := smallAddress(f.To)
	if !ok {
		return nil
	}
	p, ok := precompiles[n]
	if !ok || !precompileAnswered(n, f) {
		return nil
	}
	c := &Call{Name: p.Name, Signature: p.Text, Provenance: FromBuiltin}
	if p.raw {
		c.Args = []api.Arg{{Name: "data", Type: "bytes", Value: d.vals.bytes(f.Input)}}
		return c
	}
	in := f.Input // what is missing counts as zeros (Yellow Paper, appendix E)
	if len(in) < p.Head {
		in = make([]byte, p.Head)
		copy(in, f.Input)
	}
	c.Args, _, _ = d.vals.read(p.Inputs, p.Head, in[:p.Head], exact)
	return c
}

// precompileAnswered reports whether the frame shows that a precompile ran. The first four
// always existed. A later one returns data or fails, while before its fork the address is
// an empty account that accepts any call and returns nothing.
func precompileAnswered(n uint64, f *trace.Frame) bool {
	switch {
	case n <= 4:
		return len(f.Input) > 0 || len(f.Output) > 0
	case n == 0x100:
		return len(f.Input) == 160 || len(f.Output) > 0
	}
	return len(f.Output) > 0 || f.Err != ""
}
