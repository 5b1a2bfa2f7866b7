package classify_test

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"slices"
	"strings"
	"testing"
	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/testkit/scene"

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

func multiSend(tb testing.TB, calls ...facts.InnerCall) []byte {
	var b []byte
	for _, c := range calls {
		b = append(append(b, 0), c.To[:]...)
		var w [64]byte
		c.Value.FillBytes(w[:32])
		binary.BigEndian.PutUint64(w[56:], uint64(len(c.Input)))
		b = append(append(b, w[:]...), c.Input...)
	}
	return packed(tb, "multiSend(bytes)", b)
}

func TestPayloads(t *testing.T) {
	approve, send := scene.Input("approve(address,uint256)", scene.Router, 5), scene.Input("transfer(address,uint256)", scene.Friend, 7)
	f := func(name string, in []byte, want ...facts.InnerCall) {
		t.Helper()
		_, got := facts.Tables().InnerCalls(in)
		same := slices.EqualFunc(got, want, func(x, y facts.InnerCall) bool {
			zero := new(big.Int)
			if x.Value == nil {
				x.Value = zero
			}
			if y.Value == nil {
				y.Value = zero
			}
			return x.To == y.To && x.HasTo == y.HasTo && x.Value.Cmp(y.Value) == 0 && bytes.Equal(x.Input, y.Input) && x.Name == y.Name
		})
		if !same {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	two := []facts.InnerCall{{To: scene.Usdc, HasTo: true, Value: big.NewInt(3), Input: approve}, {To: scene.Weth, HasTo: true, Value: new(big.Int), Input: send}}
	targets, values, datas := []common.Address{scene.Usdc, scene.Weth}, []*big.Int{big.NewInt(3), new(big.Int)}, [][]byte{approve, send}
	f("multiSend", multiSend(t, two...), two...)
	f("batch of lists", packed(t, "executeBatch(address[],uint256[],bytes[])", targets, values, datas), two...)
	f("multicall", packed(t, "multicall(uint256,bytes[])", big.NewInt(9), datas), facts.InnerCall{Input: approve}, facts.InnerCall{Input: send})
	f("proposal", packed(t, "propose(address[],uint256[],bytes[],string)", targets, values, datas, "why"), two...)
	f("proposal by signatures", packed(t, "propose(address[],uint256[],string[],bytes[],string)", targets[:1], values[:1], []string{"approve(address,uint256)"}, [][]byte{approve[4:]}, "why"),
		facts.InnerCall{To: scene.Usdc, HasTo: true, Value: big.NewInt(3), Input: approve, Name: "approve"})
	f("timelock", packed(t, "schedule(address,uint256,bytes,bytes32,bytes32,uint256)", scene.Usdc, big.NewInt(3), approve, [32]byte{}, [32]byte{1}, big.NewInt(60)), two[0])
	f("lists of unequal length", packed(t, "executeBatch(address[],uint256[],bytes[])", targets[:1], values, datas))
	f("router", packed(t, "execute(bytes,bytes[],uint256)", []byte{0x0b, 0x80, 0x3f}, [][]byte{{1}, {2}, {3}}, big.NewInt(1)),
		facts.InnerCall{Name: "wrap native coin", Input: []byte{1}}, facts.InnerCall{Name: "swap on v3 for an exact input", Input: []byte{2}}, facts.InnerCall{Name: "command 0x3f", Input: []byte{3}})
	one := append(append(slices.Clone(scene.Usdc[:]), common.BigToHash(big.NewInt(3)).Bytes()...), approve...)
	f("one modular call", packed(t, "execute(bytes32,bytes)", [32]byte{}, one), two[0])
	f("cut short", multiSend(t, two...)[:300], two[:0]...)
}

// TestPayloadSteps: what a router, a batch and a proposal were told stands in the
// steps; what is only asked for is told as asked for.
func TestPayloadSteps(t *testing.T) {
	f := func(name string, in []byte, want string) {
		t.Helper()
		v := scene.Held(t, name, scene.New(scene.At(scene.Vault), 0, in).Facts(t))
		if !slices.Contains(v.Steps, want) {
			t.Errorf("%s: %q, want %q", name, v.Steps, want)
		}
	}
	mint := scene.Input("transfer(address,uint256)", scene.Friend, 7)
	f("multiSend", multiSend(t, facts.InnerCall{To: scene.Usdc, Value: new(big.Int), Input: mint}, facts.InnerCall{To: scene.Friend, Value: big.NewInt(1_000000_000000)}),
		"The batch holds 2 calls: transfer at USDC (0x05dc…05dc); a payment at 0xf00d…f00d with 0.000001 ETH.")
	f("proposal", packed(t, "propose(address[],uint256[],bytes[],string)", []common.Address{scene.Usdc}, []*big.Int{new(big.Int)}, [][]byte{mint}, "pay"),
		"The proposal asks for 1 call: transfer at USDC (0x05dc…05dc).")
	f("router", packed(t, "execute(bytes,bytes[])", []byte{0x0b, 0x08}, [][]byte{{}, {}}),
		"0x7a17…7a17 ran 2 commands: wrap native coin; swap on v2 for an exact input.")
}

func TestPaidPlace(t *testing.T) {
	s := scene.New(scene.At(scene.Bot), 5_000000, nil2())
	s.Call(scene.Bot, scene.Miner, 5_000000, nil)
	v := scene.Held(t, "", s.Facts(t))
	if typeName(v) != string(api.TypeMEV) || v.SubType != "builder_payment" || v.Summary != "Paid the block producer 5,000,000 wei" {
		t.Errorf("%s/%s %q", typeName(v), v.SubType, v.Summary)
	}
}

func FuzzPayloads(f *testing.F) {
	f.Add(multiSend(f, facts.InnerCall{To: scene.Usdc, Value: big.NewInt(1), Input: []byte{1, 2, 3, 4}}))
	f.Add(packed(f, "execute(bytes,bytes[])", []byte{0x0b, 0x21}, [][]byte{{1}, {2}}))
	f.Add(packed(f, "propose(address[],uint256[],string[],bytes[],string)", []common.Address{scene.Usdc}, []*big.Int{big.NewInt(1)}, []string{"a()"}, [][]byte{{}}, ""))
	f.Add(packed(f, "execute(bytes32,bytes)", [32]byte{1}, packed(f, "x(bytes)", []byte{1})[4:]))
	f.Fuzz(func(t *testing.T, in []byte) {
		for s := range facts.Tables().Payloads {
			_, list := facts.Tables().InnerCalls(append(s[:], in...))
			if len(list) > facts.MaxInner {
				t.Fatalf("%d calls", len(list))
			}
		}
		if _, list := facts.Tables().InnerCalls(in); len(list) > facts.MaxInner {
			t.Fatalf("%d calls", len(list))
		}
	})
}
