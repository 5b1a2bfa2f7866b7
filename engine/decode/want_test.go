package decode

import (
	"reflect"
	"slices"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

func TestWantRanksWhatMatters(t *testing.T) {
	other, quiet := common.HexToAddress("0x0700000000000000000000000000000000000001"), common.HexToAddress("0x0800000000000000000000000000000000000002")
	tree := calling(t, token, "a9059cbb"+word(alice)+word(1))
	add := func(f *trace.Frame) {
		f.HasTo, f.Depth, f.Index, f.Parent = true, 1, len(tree.Frames), tree.Root
		tree.Root.Children = append(tree.Root.Children, f)
		tree.Frames = append(tree.Frames, f)
	}
	add(&trace.Frame{Kind: trace.StaticCall, To: quiet, Input: unhex(t, "70a08231"+word(alice)), Output: make([]byte, 32), GasUsed: 9})
	add(&trace.Frame{Kind: trace.DelegateCall, To: impl, Input: tree.Root.Input, GasUsed: 9})
	add(&trace.Frame{Kind: trace.Call, To: other, Input: unhex(t, "f0f0f0f1"), GasUsed: 9, Err: "execution reverted", Output: unhex(t, "fefefefe")})
	add(&trace.Frame{Kind: trace.StaticCall, To: common.HexToAddress("0x02"), Input: []byte{1}, Output: make([]byte, 32), GasUsed: 9})
	add(&trace.Frame{Kind: trace.Call, To: common.HexToAddress("0x" + alice)}) // an account: nothing runs there
	unknown := crypto.Keccak256Hash([]byte("NobodyKnowsThis()"))
	rc := &ethrpc.Receipt{Logs: []ethrpc.Log{{Address: token, Topics: []common.Hash{unknown}}, {Address: token, Topics: []common.Hash{crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))}}, {Address: token}}}

	addrs, selectors, topics := Want(tree, rc)
	if want := []common.Address{token, impl, other, quiet}; !slices.Equal(addrs, want) {
		t.Errorf("addresses %v", addrs)
	}
	if want := [][4]byte{{0xfe, 0xfe, 0xfe, 0xfe}, {0xf0, 0xf0, 0xf0, 0xf1}}; !slices.Equal(selectors, want) {
		t.Errorf("selectors %x", selectors)
	}
	if !slices.Equal(topics, []common.Hash{unknown}) {
		t.Errorf("topics %v", topics)
	}
}

func TestWantIsBoundedAndStable(t *testing.T) {
	for _, b := range fixture.Blocks(t) {
		for _, tx := range b.Txs {
			tree, rc := load(t, tx)
			addrs, selectors, topics := Want(tree, rc)
			if len(addrs) > maxWantAddresses || len(selectors) > maxWantSelectors || len(topics) > maxWantTopics {
				t.Fatalf("%s: %d addresses, %d selectors, %d topics", tx.Hash, len(addrs), len(selectors), len(topics))
			}
			again, selectors2, topics2 := Want(tree, rc)
			if !reflect.DeepEqual(addrs, again) || !reflect.DeepEqual(selectors, selectors2) || !reflect.DeepEqual(topics, topics2) {
				t.Fatalf("%s: a second run wants something else", tx.Hash)
			}
		}
	}
}

// Two decodings of the same evidence are equal in every byte that matters.
func TestDecodingIsDeterministic(t *testing.T) {
	for _, b := range fixture.Blocks(t)[:8] {
		for _, tx := range b.Txs {
			tree, rc := load(t, tx)
			if a, b := New(nil, Sources{}).All(tree, rc), New(nil, Sources{}).All(tree, rc); !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: two runs differ", tx.Hash)
			}
		}
	}
}
