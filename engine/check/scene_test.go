package check_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Made-up transactions for the rules of outcomes: trees of calls, from which the movements
// follow.

// who is an account of a scene by its name.
func who(name string) common.Address {
	if a, ok := places[name]; ok {
		return a
	}
	return common.BytesToAddress(evmsig.Hash(name).Bytes())
}

var places = map[string]common.Address{
	"weth": common.HexToAddress("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"), "zero": {},
	"balancer":   common.HexToAddress("0xBA12222222228d8Ba445958a75a0704d566BF2C8"),
	"permit2":    common.HexToAddress("0x000000000022D473030F116dDEE9F6B43aC78BA3"),
	"phisher":    common.HexToAddress("0xffe1b64007635ea9164f3a96d2ca10823561fbf7"), // that a list reports
	"listed":     common.HexToAddress("0x098b716b8aaf21512996dc57eb0615e2383e2f96"), // under sanctions
	"signer":     common.BytesToAddress([]byte{1}),
	"entrypoint": common.HexToAddress("0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789"), // of ERC-4337
	"busd":       common.HexToAddress("0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"), // a stablecoin of BNB Chain with 18 decimals
	"realUSDC":   common.HexToAddress("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), // a stablecoin of the lists
}

// calldata is a call of a function: its signature, then words: names of accounts, numbers,
// or calldata to embed.
func calldata(signature string, args ...any) []byte {
	s := evmsig.Func(signature)
	out := s[:]
	for _, a := range args {
		switch v := a.(type) {
		case string:
			w := who(v)
			out = append(out, common.LeftPadBytes(w[:], 32)...)
		case int:
			out = append(out, common.BigToHash(big.NewInt(int64(v))).Bytes()...)
		case []byte:
			out = append(out, v...)
		}
	}
	return out
}

// call is a frame with those inside of it. What a name is to another is told by the frames.
func call(to, signature string, args ...any) *trace.Frame {
	f := &trace.Frame{Kind: trace.Call, To: who(to), HasTo: true}
	var words []any
	for _, a := range args {
		if c, ok := a.(*trace.Frame); ok {
			f.Children = append(f.Children, c)
		} else {
			words = append(words, a)
		}
	}
	f.Input = calldata(signature, words...)
	f.Output = common.BigToHash(common.Big1).Bytes()
	return f
}

// sends is a payment of coin, with what its receiver does.
func sends(to string, wei uint64, inside ...*trace.Frame) *trace.Frame {
	f := &trace.Frame{Kind: trace.Call, To: who(to), HasTo: true, Children: inside}
	f.Value.SetUint64(wei)
	return f
}

// creates is the creation of a contract, with what its constructor does.
func creates(name string, inside ...*trace.Frame) *trace.Frame {
	return &trace.Frame{Kind: trace.Create, To: who(name), HasTo: true, Children: inside, Output: []byte{1}}
}

// view is a question with its answer.
func view(to, signature string, answer int, args ...any) *trace.Frame {
	f := call(to, signature, args...)
	f.Kind, f.Output = trace.StaticCall, common.BigToHash(big.NewInt(int64(answer))).Bytes()
	return f
}

// pay is a transfer of a token by whoever makes the call; take that of somebody else's.
func pay(token, to string, amount int) *trace.Frame {
	f := call(token, "transfer(address,uint256)", to, amount)
	f.Output = common.BigToHash(common.Big1).Bytes()
	return f
}

func take(token, from, to string, amount int) *trace.Frame {
	f := call(token, "transferFrom(address,address,uint256)", from, to, amount)
	f.Output = common.BigToHash(common.Big1).Bytes()
	return f
}

// clone copies a frame with those inside of it, so that scenes may share frames.
func clone(f *trace.Frame) *trace.Frame {
	c := *f
	c.Children = nil
	for _, x := range f.Children {
		c.Children = append(c.Children, clone(x))
	}
	c.Logs = slices.Clone(f.Logs)
	return &c
}

// treeOf finishes the frames of a scene: who calls is whose code runs.
func treeOf(root *trace.Frame) *trace.Tree {
	root = clone(root)
	root.From = who("sender")
	var set func(f *trace.Frame)
	set = func(f *trace.Frame) {
		for _, c := range f.Children {
			c.From = f.To
			if f.Kind == trace.DelegateCall {
				c.From = f.From
			}
			set(c)
		}
	}
	set(root)
	t := &trace.Tree{Source: trace.SourceDebug, Root: root}
	t.Finish()
	return t
}

// attackBy is the call of a contract that nobody knows, which does what is inside.
func attackBy(inside ...*trace.Frame) *trace.Frame {
	args := make([]any, len(inside))
	for i, f := range inside {
		args[i] = f
	}
	return call("tool", "go_74b1()", args...)
}

// fired are the rules that fire in a scene, with ! where they decide.
func fired(t *testing.T, root *trace.Frame) string {
	t.Helper()
	c := judged(t, root)
	var out []string
	for _, f := range c.Triage.Fired {
		if f.Rule == "unpaid" || f.Rule == "robbed_by_others" {
			continue // they follow whatever is lost; see TestLooseRules
		}
		s := f.Rule
		if f.Decisive {
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// emits adds an event to a call: its signature, indexed accounts, then words.
func emits(f *trace.Frame, signature string, indexed []string, data ...int) *trace.Frame {
	g := trace.Log{Address: f.To, Topics: []common.Hash{evmsig.Hash(signature)}, Calls: len(f.Children), Receipt: -1}
	for _, name := range indexed {
		a := who(name)
		g.Topics = append(g.Topics, common.BytesToHash(a[:]))
	}
	for _, n := range data {
		g.Data = append(g.Data, common.BigToHash(big.NewInt(int64(n))).Bytes()...)
	}
	f.Logs = append(f.Logs, g)
	return f
}
