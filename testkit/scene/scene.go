package scene

import (
	"math/big"
	"testing"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// Accounts and contracts of the scenes. They are no real addresses.
var (
	User   = Addr(0xa11c)
	Friend = Addr(0xf00d)
	Bot    = Addr(0xb070)
	Router = Addr(0x4007)
	Pool1  = Addr(0x9001)
	Pool2  = Addr(0x9002)
	Vault  = Addr(0x7a17)
	Miner  = Addr(0x1111)
	Usdc   = Addr(0x05dc)
	Weth   = common.HexToAddress("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
	Nft    = Addr(0x0721)
)

// Addr makes an address that its short form tells: addr(0xf00d) is 0xf00d…f00d.
func Addr(n uint16) (a common.Address) {
	a[0], a[1], a[9], a[18], a[19] = byte(n>>8), byte(n), 1, byte(n>>8), byte(n)
	return a
}

// Scene builds the facts of one made-up transaction on Ethereum.
type Scene struct {
	Tx     *ethrpc.Transaction
	Rc     *ethrpc.Receipt
	blk    *ethrpc.Block
	Root   *trace.Frame
	labels map[common.Address]label.Label
	Tokens map[common.Address]label.Token
	Source trace.Source
}

func New(to *common.Address, value int64, input []byte) *Scene {
	ok := uint64(1)
	s := &Scene{
		Tx:     &ethrpc.Transaction{From: User, To: to, Value: big.NewInt(value), Input: input, Gas: 500000, GasPrice: big.NewInt(10)},
		Rc:     &ethrpc.Receipt{Status: &ok, GasUsed: 100000, EffectiveGasPrice: big.NewInt(10)},
		blk:    &ethrpc.Block{Number: 1, Miner: Miner, BaseFee: big.NewInt(10)},
		labels: map[common.Address]label.Label{},
		Tokens: map[common.Address]label.Token{},
		Source: trace.SourceDebug,
	}
	s.Root = &trace.Frame{Kind: trace.Call, From: User, Input: input, Gas: 500000}
	if to != nil {
		s.Root.To, s.Root.HasTo = *to, true
	} else {
		s.Root.Kind = trace.Create
	}
	s.Root.Value = *uint256.NewInt(uint64(value))
	six, eighteen := uint8(6), uint8(18)
	s.Tokens[Usdc] = label.Token{Address: Usdc, Symbol: "USDC", Decimals: &six, Listed: true}
	s.Tokens[Weth] = label.Token{Address: Weth, Symbol: "WETH", Decimals: &eighteen, Listed: true}
	return s
}

// Log appends a log to the receipt and to the root frame. Indexed and data are words:
// addresses, integers, hashes or bools.
func (s *Scene) Log(emitter common.Address, signature string, indexed []any, data ...any) *Scene {
	l := ethrpc.Log{Address: emitter, Topics: []common.Hash{crypto.Keccak256Hash([]byte(signature))}}
	for _, x := range indexed {
		l.Topics = append(l.Topics, Word(x))
	}
	for _, x := range data {
		w := Word(x)
		l.Data = append(l.Data, w[:]...)
	}
	s.Root.Logs = append(
		s.Root.Logs,
		trace.Log{Address: emitter, Topics: l.Topics, Data: l.Data, Calls: len(s.Root.Children), Receipt: len(s.Rc.Logs)},
	)
	l.Index = uint64(len(s.Rc.Logs))
	s.Rc.Logs = append(s.Rc.Logs, l)
	return s
}

func Word(x any) common.Hash {
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

func (s *Scene) Transfer(token, from, to common.Address, amount int) *Scene {
	return s.Log(token, "Transfer(address,address,uint256)", []any{from, to}, amount)
}

// Call adds an inner call below the root.
func (s *Scene) Call(from, to common.Address, value uint64, input []byte) *trace.Frame {
	f := &trace.Frame{Kind: trace.Call, From: from, To: to, HasTo: true, Input: input}
	f.Value = *uint256.NewInt(value)
	s.Root.Children = append(s.Root.Children, f)
	return f
}

func (s *Scene) Fail(err string) *Scene {
	no := uint64(0)
	s.Rc.Status, s.Rc.Logs, s.Root.Logs, s.Root.Err = &no, nil, nil, err
	return s
}

func (s *Scene) Known(a common.Address, name, category, protocol string) *Scene {
	s.labels[a] = label.Label{Name: name, Category: category, Protocol: protocol}
	return s
}

func (s *Scene) Facts(tb testing.TB) *facts.Input {
	tb.Helper()
	ch, ok := chain.ByID(1)
	if !ok {
		tb.Fatal("Ethereum is not in the table")
	}
	tree := &trace.Tree{Source: s.Source, Root: s.Root, HasLogs: true}
	tree.Finish()
	f := Compose(ch, s.Tx, s.Rc, s.blk, tree)
	for a, l := range s.labels {
		f.Labels[a] = l
	}
	for a, t := range s.Tokens {
		f.Tokens[a] = t
	}
	return f
}

// Input is calldata: a selector and words.
func Input(signature string, args ...any) []byte {
	b := crypto.Keccak256([]byte(signature))[:4]
	for _, x := range args {
		w := Word(x)
		b = append(b, w[:]...)
	}
	return b
}

func At(a common.Address) *common.Address { return &a }
