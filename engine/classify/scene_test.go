package classify

import (
	"math/big"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// Accounts and contracts of the scenes. They are no real addresses.
var (
	user   = addr(0xa11c)
	friend = addr(0xf00d)
	bot    = addr(0xb070)
	router = addr(0x4007)
	pool1  = addr(0x9001)
	pool2  = addr(0x9002)
	vault  = addr(0x7a17)
	miner  = addr(0x1111)
	usdc   = addr(0x05dc)
	weth   = common.HexToAddress("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
	nft    = addr(0x0721)
)

// addr makes an address that its short form tells: addr(0xf00d) is 0xf00d…f00d.
func addr(n uint16) (a common.Address) {
	a[0], a[1], a[9], a[18], a[19] = byte(n>>8), byte(n), 1, byte(n>>8), byte(n)
	return a
}

// scene builds the facts of one made-up transaction on Ethereum.
type scene struct {
	tx     *ethrpc.Transaction
	rc     *ethrpc.Receipt
	blk    *ethrpc.Block
	root   *trace.Frame
	labels map[common.Address]label.Label
	tokens map[common.Address]label.Token
	rung   trace.Rung
}

func newScene(to *common.Address, value int64, input []byte) *scene {
	ok := uint64(1)
	s := &scene{
		tx:     &ethrpc.Transaction{From: user, To: to, Value: big.NewInt(value), Input: input, Gas: 500000, GasPrice: big.NewInt(10)},
		rc:     &ethrpc.Receipt{Status: &ok, GasUsed: 100000, EffectiveGasPrice: big.NewInt(10)},
		blk:    &ethrpc.Block{Number: 1, Miner: miner, BaseFee: big.NewInt(10)},
		labels: map[common.Address]label.Label{},
		tokens: map[common.Address]label.Token{},
		rung:   trace.RungDebug,
	}
	s.root = &trace.Frame{Kind: trace.Call, From: user, Input: input, Gas: 500000}
	if to != nil {
		s.root.To, s.root.HasTo = *to, true
	} else {
		s.root.Kind = trace.Create
	}
	s.root.Value = *uint256.NewInt(uint64(value))
	six, eighteen := uint8(6), uint8(18)
	s.tokens[usdc] = label.Token{Address: usdc, Symbol: "USDC", Decimals: &six, Listed: true}
	s.tokens[weth] = label.Token{Address: weth, Symbol: "WETH", Decimals: &eighteen, Listed: true}
	return s
}

// log appends a log to the receipt and to the root frame. Indexed and data are words:
// addresses, integers, hashes or bools.
func (s *scene) log(emitter common.Address, signature string, indexed []any, data ...any) *scene {
	l := ethrpc.Log{Address: emitter, Topics: []common.Hash{crypto.Keccak256Hash([]byte(signature))}}
	for _, x := range indexed {
		l.Topics = append(l.Topics, word(x))
	}
	for _, x := range data {
		w := word(x)
		l.Data = append(l.Data, w[:]...)
	}
	s.root.Logs = append(s.root.Logs, trace.Log{Address: emitter, Topics: l.Topics, Data: l.Data, Calls: len(s.root.Children), Receipt: len(s.rc.Logs)})
	l.Index = uint64(len(s.rc.Logs))
	s.rc.Logs = append(s.rc.Logs, l)
	return s
}

func word(x any) common.Hash {
	switch v := x.(type) {
	case common.Address:
		return common.BytesToHash(v[:])
	case common.Hash:
		return v
	case *big.Int:
		return common.BigToHash(v)
	case bool:
		if v {
			return common.BigToHash(big.NewInt(1))
		}
	case int:
		n := big.NewInt(int64(v))
		if n.Sign() < 0 {
			n.Add(n, new(big.Int).Lsh(big.NewInt(1), 256))
		}
		return common.BigToHash(n)
	}
	return common.Hash{}
}

func (s *scene) transfer(token, from, to common.Address, amount int) *scene {
	return s.log(token, "Transfer(address,address,uint256)", []any{from, to}, amount)
}

// call adds an inner call below the root.
func (s *scene) call(from, to common.Address, value uint64, input []byte) *trace.Frame {
	f := &trace.Frame{Kind: trace.Call, From: from, To: to, HasTo: true, Input: input}
	f.Value = *uint256.NewInt(value)
	s.root.Children = append(s.root.Children, f)
	return f
}

func (s *scene) fail(err string) *scene {
	no := uint64(0)
	s.rc.Status, s.rc.Logs, s.root.Logs, s.root.Err = &no, nil, nil, err
	return s
}

func (s *scene) known(a common.Address, name, category, protocol string) *scene {
	s.labels[a] = label.Label{Name: name, Category: category, Protocol: protocol}
	return s
}

func (s *scene) facts(tb testing.TB) *Facts {
	tb.Helper()
	ch, ok := chain.ByID(1)
	if !ok {
		tb.Fatal("Ethereum is not in the table")
	}
	tree := &trace.Tree{Source: s.rung, Root: s.root, HasLogs: true}
	tree.Finish()
	f := compose(ch, s.tx, s.rc, s.blk, tree)
	for a, l := range s.labels {
		f.Labels[a] = l
	}
	for a, t := range s.tokens {
		f.Tokens[a] = t
	}
	return f
}

// input is calldata: a selector and words.
func input(signature string, args ...any) []byte {
	b := crypto.Keccak256([]byte(signature))[:4]
	for _, x := range args {
		w := word(x)
		b = append(b, w[:]...)
	}
	return b
}

func at(a common.Address) *common.Address { return &a }
