package decode

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// state is a Prober over maps; a missing call is refused.
type state struct {
	code  map[common.Address]string
	slots map[common.Address]map[common.Hash]common.Address
	calls map[common.Address]map[string]common.Address
	fail  error
	asked int
}

func (s *state) Code(_ context.Context, a common.Address) ([]byte, error) {
	s.asked++
	return common.FromHex(s.code[a]), s.fail
}

func (s *state) Storage(_ context.Context, a common.Address, slot common.Hash) (common.Hash, error) {
	s.asked++
	return common.BytesToHash(s.slots[a][slot].Bytes()), s.fail
}

func (s *state) Call(_ context.Context, to common.Address, data []byte) ([]byte, error) {
	s.asked++
	if a, ok := s.calls[to][common.Bytes2Hex(data[:4])]; ok {
		return common.LeftPadBytes(a[:], 32), nil
	}
	return nil, errors.New("execution reverted")
}

func TestSlotsAreThoseOfTheStandards(t *testing.T) {
	f := func(got common.Hash, want string) {
		t.Helper()
		if got.Hex() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(statediff.Implementation, "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc")
	f(statediff.Beacon, "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50")
	f(statediff.Zeppelinos, "0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3")
	f(statediff.Proxiable, "0xc5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7")
	f(statediff.Matic, "0xbaab7dbf64751104133af04abc7d9979f0fda3b059a322a8333f533d3f32bf7f")
	f(slotDiamond, "0xc8fcad8db84d3cc18b4c41d551ea0ee66dd599cde068d998e57d5e09332c131c")
}

// Code of a proxy that delegates and holds the given constants.
func proxyCode(constants ...string) string {
	return "6080604052" + "7f" + strings.Repeat("00", 32) + strings.Join(constants, "") + "3660008037600080366000855af4"
}

func TestImplementation(t *testing.T) {
	a, b, c, d := common.HexToAddress("0xaa00000000000000000000000000000000000001"), common.HexToAddress("0xbb00000000000000000000000000000000000002"),
		common.HexToAddress("0xcc00000000000000000000000000000000000003"), common.HexToAddress("0xdd00000000000000000000000000000000000004")
	hexOf := func(a common.Address) string { return common.Bytes2Hex(a[:]) }
	f := func(s *state, tree *trace.Tree, kind string, want ...common.Address) {
		t.Helper()
		p, err := Implementation(context.Background(), TxState{After: s, Tree: tree}, a)
		if p == nil {
			p = &Proxy{}
		}
		if p.Kind != kind || !slices.Equal(p.Behind, want) {
			t.Errorf("got %s %v (%v), want %s %v", p.Kind, p.Behind, err, kind, want)
		}
	}
	plain := "6080604052600080fd"
	slots := func(slot common.Hash, to common.Address) map[common.Address]map[common.Hash]common.Address {
		return map[common.Address]map[common.Hash]common.Address{a: {slot: to}}
	}
	code := func(s string) map[common.Address]string {
		return map[common.Address]string{a: s, b: plain, c: plain, d: plain}
	}

	f(&state{code: code("")}, nil, "")
	f(&state{code: code(plain), slots: slots(statediff.Implementation, b)}, nil, "") // no DELEGATECALL: no proxy
	f(&state{code: code("ef0100" + hexOf(b))}, nil, "eip7702", b)

	// Minimal proxies.
	f(&state{code: code("363d3d373d3d3d363d73" + hexOf(b) + "5af43d82803e903d91602b57fd5bf3")}, nil, "eip1167", b)
	f(&state{code: code("363d3d373d3d3d363d6f" + hexOf(b)[8:] + "5af43d82803e903d91602757fd5bf3")}, nil, "eip1167", common.HexToAddress(hexOf(b)[8:]))
	f(&state{code: code("3d3d3d3d363d3d37363d73" + hexOf(b) + "5af43d3d93803e602a57fd5bf3")}, nil, "eip1167", b)
	f(&state{code: code("365f5f375f5f365f73" + hexOf(b) + "5af43d5f5f3e5f3d91602a57fd5bf3")}, nil, "eip1167", b)
	f(&state{code: code("5f5f365f5f37365f73" + hexOf(b) + "5af43d5f5f3e6029573d5ffd5b3d5ff3")}, nil, "eip1167", b)
	f(&state{code: code("366000600037611000600036600073" + hexOf(b) + "5af4602c57600080fd5b6110006000f3")}, nil, "eip1167", b)
	f(&state{code: code("363d3d373d3d3d363d73" + hexOf(b) + "5af43d82803e903d91602b57fd5bf3" + "deadbeef")}, nil, "eip1167", b)

	// Storage.
	f(&state{code: code(proxyCode()), slots: slots(statediff.Implementation, b)}, nil, "eip1967", b)
	f(&state{code: code(proxyCode()), slots: slots(statediff.Beacon, c), calls: map[common.Address]map[string]common.Address{c: {"5c60da1b": b}}}, nil, "beacon", b)
	f(&state{code: code(proxyCode("7f" + statediff.Zeppelinos.Hex()[2:])), slots: slots(statediff.Zeppelinos, b)}, nil, "zeppelinos", b)
	f(&state{code: code(proxyCode("7f" + statediff.Proxiable.Hex()[2:])), slots: slots(statediff.Proxiable, b)}, nil, "eip1822", b)
	f(&state{code: code(proxyCode("7f" + statediff.Matic.Hex()[2:])), slots: slots(statediff.Matic, b)}, nil, "matic", b)
	f(&state{code: code(proxyCode("7fa619486e" + strings.Repeat("00", 28))), slots: slots(common.Hash{}, b)}, nil, "safe", b)
	f(&state{code: code(proxyCode()), slots: slots(common.Hash{}, b)}, nil, "") // slot 0 of anything
	f(&state{code: code(proxyCode("635c60da1b")), calls: map[common.Address]map[string]common.Address{a: {"5c60da1b": b}}}, nil, "getter", b)

	// The trace, the diamond.
	tree := calling(t, a, "12345678")
	child := &trace.Frame{Kind: trace.DelegateCall, From: a, To: c, HasTo: true, Input: tree.Root.Input, Depth: 1, Index: 1, Parent: tree.Root}
	tree.Root.Children, tree.Frames = []*trace.Frame{child}, append(tree.Frames, child)
	f(&state{code: code(proxyCode()), slots: slots(statediff.Implementation, b)}, tree, "trace", c)
	child.Input = []byte{1, 2, 3, 4} // a library call is no proxy
	f(&state{code: code(proxyCode()), slots: slots(statediff.Implementation, b)}, tree, "eip1967", b)
	f(&state{code: code(proxyCode("7f" + slotDiamond.Hex()[2:])), calls: map[common.Address]map[string]common.Address{a: {"cdffacc6": d}}}, calling(t, a, "12345678"), "diamond", d)

	// Levels and loops.
	chained := &state{code: map[common.Address]string{a: "ef0100" + hexOf(b), b: proxyCode(), c: "363d3d373d3d3d363d73" + hexOf(d) + "5af43d82803e903d91602b57fd5bf3", d: "ef0100" + hexOf(a)},
		slots: map[common.Address]map[common.Hash]common.Address{a: {statediff.Implementation: c}, b: {statediff.Implementation: a}}} // the storage is the account's
	f(chained, nil, "eip7702", b, c, d)
	loop := &state{code: map[common.Address]string{a: "ef0100" + hexOf(b), b: "ef0100" + hexOf(a)}}
	f(loop, nil, "eip7702", b)
}

func TestImplementationSaysWhenNobodyAnswered(t *testing.T) {
	broken := errors.New("no answer")
	if _, err := Implementation(context.Background(), TxState{After: &state{fail: broken}}, token); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	quiet := &state{code: map[common.Address]string{token: "6001"}}
	if _, err := Implementation(context.Background(), TxState{After: quiet}, token); err != nil || quiet.asked != 1 {
		t.Errorf("an ordinary contract cost %d requests, error %v", quiet.asked, err)
	}
}
