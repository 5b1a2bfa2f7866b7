package classify

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// packed is calldata by go-ethereum's own encoder, so that the readers are not held to
// themselves.
func packed(tb testing.TB, signature string, args ...any) []byte {
	tb.Helper()
	name, rest, _ := strings.Cut(signature, "(")
	var list abi.Arguments
	for _, t := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
		typ, err := abi.NewType(t, "", nil)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, abi.Argument{Type: typ})
	}
	b, err := list.Pack(args...)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return append(crypto.Keccak256([]byte(signature))[:4], b...)
}

func multiSend(tb testing.TB, calls ...innerCall) []byte {
	var b []byte
	for _, c := range calls {
		b = append(append(b, 0), c.to[:]...)
		var w [64]byte
		c.value.FillBytes(w[:32])
		binary.BigEndian.PutUint64(w[56:], uint64(len(c.input)))
		b = append(append(b, w[:]...), c.input...)
	}
	return packed(tb, "multiSend(bytes)", b)
}

func TestPayloads(t *testing.T) {
	approve, send := input("approve(address,uint256)", router, 5), input("transfer(address,uint256)", friend, 7)
	f := func(name string, in []byte, want ...innerCall) {
		t.Helper()
		_, got := theRegistry().innerCalls(in)
		same := slices.EqualFunc(got, want, func(x, y innerCall) bool {
			zero := new(big.Int)
			if x.value == nil {
				x.value = zero
			}
			if y.value == nil {
				y.value = zero
			}
			return x.to == y.to && x.hasTo == y.hasTo && x.value.Cmp(y.value) == 0 && bytes.Equal(x.input, y.input) && x.name == y.name
		})
		if !same {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	two := []innerCall{{to: usdc, hasTo: true, value: big.NewInt(3), input: approve}, {to: weth, hasTo: true, value: new(big.Int), input: send}}
	targets, values, datas := []common.Address{usdc, weth}, []*big.Int{big.NewInt(3), new(big.Int)}, [][]byte{approve, send}
	f("multiSend", multiSend(t, two...), two...)
	f("batch of lists", packed(t, "executeBatch(address[],uint256[],bytes[])", targets, values, datas), two...)
	f("multicall", packed(t, "multicall(uint256,bytes[])", big.NewInt(9), datas), innerCall{input: approve}, innerCall{input: send})
	f("proposal", packed(t, "propose(address[],uint256[],bytes[],string)", targets, values, datas, "why"), two...)
	f("proposal by signatures", packed(t, "propose(address[],uint256[],string[],bytes[],string)", targets[:1], values[:1], []string{"approve(address,uint256)"}, [][]byte{approve[4:]}, "why"),
		innerCall{to: usdc, hasTo: true, value: big.NewInt(3), input: approve, name: "approve"})
	f("timelock", packed(t, "schedule(address,uint256,bytes,bytes32,bytes32,uint256)", usdc, big.NewInt(3), approve, [32]byte{}, [32]byte{1}, big.NewInt(60)), two[0])
	f("lists of unequal length", packed(t, "executeBatch(address[],uint256[],bytes[])", targets[:1], values, datas))
	f("router", packed(t, "execute(bytes,bytes[],uint256)", []byte{0x0b, 0x80, 0x3f}, [][]byte{{1}, {2}, {3}}, big.NewInt(1)),
		innerCall{name: "wrap native coin", input: []byte{1}}, innerCall{name: "swap on v3 for an exact input", input: []byte{2}}, innerCall{name: "command 0x3f", input: []byte{3}})
	one := append(append(slices.Clone(usdc[:]), common.BigToHash(big.NewInt(3)).Bytes()...), approve...)
	f("one modular call", packed(t, "execute(bytes32,bytes)", [32]byte{}, one), two[0])
	f("cut short", multiSend(t, two...)[:300], two[:0]...)
}

// TestPayloadSteps: what a router, a batch and a proposal were told stands in the
// steps; what is only asked for is told as asked for.
func TestPayloadSteps(t *testing.T) {
	f := func(name string, in []byte, want string) {
		t.Helper()
		v := judge(newScene(at(vault), 0, in).facts(t))
		if !slices.Contains(v.Steps, want) {
			t.Errorf("%s: %q, want %q", name, v.Steps, want)
		}
	}
	mint := input("transfer(address,uint256)", friend, 7)
	f("multiSend", multiSend(t, innerCall{to: usdc, value: new(big.Int), input: mint}, innerCall{to: friend, value: big.NewInt(1_000000_000000)}),
		"The batch holds 2 calls: transfer at USDC (0x05dc…05dc); a payment at 0xf00d…f00d with 0.000001 ETH.")
	f("proposal", packed(t, "propose(address[],uint256[],bytes[],string)", []common.Address{usdc}, []*big.Int{new(big.Int)}, [][]byte{mint}, "pay"),
		"The proposal asks for 1 call: transfer at USDC (0x05dc…05dc).")
	f("router", packed(t, "execute(bytes,bytes[])", []byte{0x0b, 0x08}, [][]byte{{}, {}}),
		"0x7a17…7a17 was told to: wrap native coin; swap on v2 for an exact input.")
}

func TestPaidPlace(t *testing.T) {
	s := newScene(at(bot), 5_000000, nil2())
	s.call(bot, miner, 5_000000, nil)
	v := judge(s.facts(t))
	if tName(v) != string(api.TypeMEV) || v.SubType != "builder_payment" || v.Summary != "Paid the block producer 0.000000000005 ETH" {
		t.Errorf("%s/%s %q", tName(v), v.SubType, v.Summary)
	}
}

func FuzzPayloads(f *testing.F) {
	f.Add(multiSend(f, innerCall{to: usdc, value: big.NewInt(1), input: []byte{1, 2, 3, 4}}))
	f.Add(packed(f, "execute(bytes,bytes[])", []byte{0x0b, 0x21}, [][]byte{{1}, {2}}))
	f.Add(packed(f, "propose(address[],uint256[],string[],bytes[],string)", []common.Address{usdc}, []*big.Int{big.NewInt(1)}, []string{"a()"}, [][]byte{{}}, ""))
	f.Add(packed(f, "execute(bytes32,bytes)", [32]byte{1}, packed(f, "x(bytes)", []byte{1})[4:]))
	f.Fuzz(func(t *testing.T, in []byte) {
		for s := range theRegistry().payloads {
			_, list := theRegistry().innerCalls(append(s[:], in...))
			if len(list) > maxInner {
				t.Fatalf("%d calls", len(list))
			}
		}
		if _, list := theRegistry().innerCalls(in); len(list) > maxInner {
			t.Fatalf("%d calls", len(list))
		}
	})
}
