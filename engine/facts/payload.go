package facts

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"txlens/engine/evmsig"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// InnerCall is one call that the calldata of another asks for.
type InnerCall struct {
	To    common.Address
	HasTo bool // false: the called contract itself
	Value *big.Int
	Input []byte
	Name  string // of a router's command; its input is no calldata then
}

// MaxInner bounds the calls that are read from one calldata: an attacker pays little
// for a list of many.
const MaxInner = 64

// Payload is how a function carries other calls.
type Payload struct {
	read func(args []byte) []InnerCall
	What string // "batch", "multicall", "router"; "proposal" makes calls, "request" asks for one that makes them
}

// readers make the readers of payloads, by the names that package protocol uses, of the
// words of the arguments that they need; -1 stands for a value that is not there. Layouts
// are those of the functions' own ABI (Solidity), of MultiSend.sol (Safe), of ERC-7579,
// of the Universal Router's Commands.sol and of 0x Settler.
var readers = map[string]struct {
	words int
	make  func(words []int) func(args []byte) []InnerCall
}{
	"packed":   {0, func([]int) func([]byte) []InnerCall { return packedCalls }},
	"self":     {1, func(w []int) func([]byte) []InnerCall { return selfCalls(w[0]) }},
	"tuples":   {2, func(w []int) func([]byte) []InnerCall { return tupleCalls(w[0], w[1]) }},
	"parallel": {3, func(w []int) func([]byte) []InnerCall { return parallelCalls(w[0], w[1], w[2]) }},
	"single":   {0, func([]int) func([]byte) []InnerCall { return singleCall }},
	"signed":   {0, func([]int) func([]byte) []InnerCall { return signedCalls }},
	"modular":  {0, func([]int) func([]byte) []InnerCall { return modularCalls }},
	"commands": {0, func([]int) func([]byte) []InnerCall { return routerCommands }},
	"actions":  {0, func([]int) func([]byte) []InnerCall { return settlerActions }},
}

var payloadKinds = []string{"batch", "multicall", "router", "request", "proposal"}

// newPayload finds the reader of a function that carries calls.
func newPayload(c *protocol.Carried) (p Payload, err error) {
	r, ok := readers[c.Reader]
	if !ok || len(c.Words) != r.words {
		return p, fmt.Errorf("no reader %q of %d words", c.Reader, len(c.Words))
	}
	if !slices.Contains(payloadKinds, c.What) {
		return p, fmt.Errorf("unknown carrier %q", c.What)
	}
	return Payload{r.make(c.Words), c.What}, nil
}

// listAt is the heads of the elements of a dynamic array, and how many are read.
func listAt(d []byte, word int) (heads []byte, n int) {
	list := OffsetAt(d, word)
	if len(list) < 32 {
		return nil, 0
	}
	count := new(big.Int).SetBytes(list[:32])
	if !count.IsUint64() || count.Uint64() > uint64(len(list)-32)/32 {
		return nil, 0
	}
	return list[32:], int(min(count.Uint64(), MaxInner))
}

func selfCalls(word int) func([]byte) []InnerCall {
	return func(d []byte) (list []InnerCall) {
		heads, n := listAt(d, word)
		for i := range n {
			list = append(list, InnerCall{Input: BytesAt(heads, i)})
		}
		return list
	}
}

// tupleCalls reads (address,...)[] with the value and the bytes at their places.
func tupleCalls(value, data int) func([]byte) []InnerCall {
	return func(d []byte) (list []InnerCall) {
		heads, n := listAt(d, 0)
		for i := range n {
			if c, ok := callIn(OffsetAt(heads, i), 0, value, data); ok {
				list = append(list, c)
			}
		}
		return list
	}
}

// callIn reads one call of a head whose words hold target, value and bytes.
func callIn(d []byte, target, value, data int) (c InnerCall, ok bool) {
	if c.To, c.HasTo = evmsig.Address(evmsig.Word(d, target)); !c.HasTo {
		return c, false
	}
	if w := evmsig.Word(d, value); w != nil {
		c.Value = new(big.Int).SetBytes(w)
	}
	c.Input = BytesAt(d, data)
	return c, true
}

func singleCall(d []byte) []InnerCall {
	if c, ok := callIn(d, 0, 1, 2); ok {
		return []InnerCall{c}
	}
	return nil
}

// parallelCalls reads lists of equal length: targets, values and calldata.
func parallelCalls(targets, values, datas int) func([]byte) []InnerCall {
	return func(d []byte) (list []InnerCall) {
		to, n := listAt(d, targets)
		sums, nv := listAt(d, values)
		input, nd := listAt(d, datas)
		if n != nd || values >= 0 && nv != n {
			return nil
		}
		for i := range n {
			c := InnerCall{Input: BytesAt(input, i)}
			if c.To, c.HasTo = evmsig.Address(evmsig.Word(to, i)); !c.HasTo {
				break
			}
			if w := evmsig.Word(sums, i); w != nil {
				c.Value = new(big.Int).SetBytes(w)
			}
			list = append(list, c)
		}
		return list
	}
}

// signedCalls reads Governor Bravo's lists, where the signature may stand beside the
// arguments instead of a selector before them.
func signedCalls(d []byte) []InnerCall {
	list := parallelCalls(0, 1, 3)(d)
	texts, n := listAt(d, 2)
	for i := range list {
		if i >= n {
			break
		}
		if text := BytesAt(texts, i); len(text) > 0 && len(text) <= 200 {
			selector := evmsig.Func(text)
			list[i].Input = slices.Concat(selector[:], list[i].Input)
			name, _, _ := strings.Cut(string(text), "(")
			list[i].Name = name
		}
	}
	return list
}

// packedCalls reads MultiSend's packed records: operation, target, value, length, data.
func packedCalls(d []byte) (list []InnerCall) {
	b := BytesAt(d, 0)
	for len(b) >= 85 && len(list) < MaxInner {
		c := InnerCall{To: common.Address(b[1:21]), HasTo: true, Value: new(big.Int).SetBytes(b[21:53])}
		n := new(big.Int).SetBytes(b[53:85])
		b = b[85:]
		if !n.IsInt64() || n.Int64() > int64(len(b)) {
			break
		}
		c.Input, b = b[:n.Int64()], b[n.Int64():]
		list = append(list, c)
	}
	return list
}

// modularCalls reads ERC-7579: the first byte of the mode says one call or a batch.
func modularCalls(d []byte) []InnerCall {
	mode, b := evmsig.Word(d, 0), BytesAt(d, 1)
	switch {
	case mode == nil:
		return nil
	case mode[0] == 1:
		return tupleCalls(1, 2)(b)
	case mode[0] == 0 && len(b) >= 52:
		return []InnerCall{{To: common.Address(b[:20]), HasTo: true, Value: new(big.Int).SetBytes(b[20:52]), Input: b[52:]}}
	}
	return nil
}

// commandNames of the Universal Router; the highest bit lets a command fail.
var commandNames = map[byte]string{
	0x00: "swap on v3 for an exact input", 0x01: "swap on v3 for an exact output", 0x02: "take tokens by Permit2", 0x03: "permit tokens by Permit2",
	0x04: "sweep the rest", 0x05: "transfer", 0x06: "pay a portion", 0x08: "swap on v2 for an exact input", 0x09: "swap on v2 for an exact output",
	0x0a: "permit a token by Permit2", 0x0b: "wrap native coin", 0x0c: "unwrap native coin", 0x0d: "take tokens by Permit2", 0x0e: "check a balance",
	0x10: "swap on v4", 0x11: "permit a v3 position", 0x12: "call the v3 position manager", 0x13: "initialise a v4 pool",
	0x14: "call the v4 position manager", 0x21: "run a sub-plan",
}

// routerCommands reads one command a byte, its input beside it.
func routerCommands(d []byte) (list []InnerCall) {
	commands := BytesAt(d, 0)
	inputs, n := listAt(d, 1)
	for i := 0; i < len(commands) && i < n; i++ {
		name := commandNames[commands[i]&0x3f]
		if name == "" {
			name = "command 0x" + hex.EncodeToString(commands[i:i+1])
		}
		list = append(list, InnerCall{Name: name, Input: BytesAt(inputs, i)})
	}
	return list
}

var settlerNames = map[[4]byte]string{
	evmsig.SelSettlerBasic:        "trade at a contract",
	evmsig.SelSettlerUniswapV3:    "swap on Uniswap v3",
	evmsig.SelSettlerTransferFrom: "take tokens by Permit2",
}

// settlerActions reads 0x Settler's actions: calldata for the settler itself.
func settlerActions(d []byte) (list []InnerCall) {
	for _, c := range selfCalls(3)(d) {
		if len(c.Input) >= 4 {
			if c.Name = settlerNames[[4]byte(c.Input)]; c.Name == "" {
				c.Name = "action 0x" + hex.EncodeToString(c.Input[:4])
			}
		}
		list = append(list, c)
	}
	return list
}

// InnerCalls reads what a calldata carries; nil when it carries nothing that is known.
func (r *Registry) InnerCalls(input []byte) (Payload, []InnerCall) {
	if len(input) < 4 {
		return Payload{}, nil
	}
	p, ok := r.Payloads[[4]byte(input)]
	if !ok {
		return p, nil
	}
	return p, p.read(input[4:])
}

// MaxPayloads bounds the calldata of one transaction that are opened.
const MaxPayloads = 6
