package decode

import (
	"encoding/binary"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// FuzzDecoder: a whole transaction of hostile bytes and hostile sources.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{0xa9, 0x05, 0x9c, 0xbb}, make([]byte, 96), "transfer(address,uint256)", []byte(vaultABI), uint8(3))
	f.Add([]byte(nil), make([]byte, 32), "Seen(uint256,bytes)", []byte(`[]`), uint8(1))
	f.Fuzz(func(t *testing.T, input, data []byte, text string, abiText []byte, shape uint8) {
		hash := crypto.Keccak256Hash([]byte(text))
		a, _ := ParseABI(abiText)
		src := Sources{Contracts: map[common.Address]*Contract{token: {ABI: a, Implementation: &impl}, impl: {ABI: a, Implementation: &token}},
			Functions: map[[4]byte][]string{[4]byte(hash[:4]): {text}}, Events: map[common.Hash][]string{hash: {text}}}
		log := ethrpc.Log{Address: token, Data: data}
		for i := range int(shape % 5) {
			topic := hash
			if i > 0 {
				binary.BigEndian.PutUint64(topic[24:], uint64(len(data)*i))
				clear(topic[:12])
			}
			log.Topics = append(log.Topics, topic)
		}
		root := &trace.Frame{Kind: trace.Kind(shape % 8), To: token, HasTo: shape&8 == 0, Input: input, GasUsed: uint64(shape)}
		inner := &trace.Frame{Kind: trace.Kind(shape / 32), From: token, To: impl, HasTo: true, Input: append(hash[:4:4], data...), Err: "x", Output: data, Depth: 1, Index: 1, Parent: root}
		root.Children = []*trace.Frame{inner}
		inner.Logs = []trace.Log{{Address: token, Topics: log.Topics, Data: data, Receipt: 0}}
		tree := &trace.Tree{Root: root, Frames: []*trace.Frame{root, inner}}
		rc := &ethrpc.Receipt{Logs: []ethrpc.Log{log}}
		s := New(nil, src).All(tree, rc)
		if len(s.Calls) != 2 || len(s.Events) != 1 {
			t.Fatal("the set does not fit the tree")
		}
		Want(tree, rc)
	})
}
