// Package oracle reads recorded transactions a second time, to say who did what in those whose
// evidence leaves no doubt, and holds results against it. Nothing of it is shared with the
// packages that make results: logs are decoded here, by the published signatures of their
// events, and of the project only the types of a result are known.
package oracle

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/crypto"
)

// Case is a recorded transaction.
type Case struct {
	ChainID  uint64
	Hash     string
	From     api.Addr
	To       api.Addr // zero for a creation
	Value    *big.Int
	Input    []byte
	OK       bool
	GasUsed  *big.Int
	GasPrice *big.Int
	L1Fee    *big.Int // 0 where the chain has none
	Logs     []Log
	CoinUSD  string // the price of the native coin, where the test made one up

	traced   bool
	payments []payment // of native coin, that stood
}

// Log is one log of the receipt.
type Log struct {
	Address api.Addr
	Topics  []string // 0x hex
	Data    []byte
	Index   uint64
}

type payment struct {
	from, to api.Addr
	wei      *big.Int
}

type quantity string

func (q quantity) int() *big.Int {
	n, ok := new(big.Int).SetString(strings.TrimPrefix(string(q), "0x"), 16)
	if !ok {
		return new(big.Int)
	}
	return n
}

type frame struct {
	Type     string
	From, To string
	Value    quantity
	Error    string
	Calls    []frame
}

// Read reads the answers of eth_getTransactionByHash, eth_getTransactionReceipt and, where it
// is not empty, of the callTracer.
func Read(chainID uint64, tx, receipt, trace []byte) (*Case, error) {
	var t struct {
		Hash, From, To, Input string
		Value                 quantity
	}
	var r struct {
		Status, GasUsed, EffectiveGasPrice, L1Fee quantity
		Logs                                      []struct {
			Address, Data string
			Topics        []string
			LogIndex      quantity
		}
	}
	if err := json.Unmarshal(tx, &t); err != nil {
		return nil, fmt.Errorf("read transaction: %w", err)
	}
	if err := json.Unmarshal(receipt, &r); err != nil {
		return nil, fmt.Errorf("read receipt of %s: %w", t.Hash, err)
	}
	c := &Case{
		ChainID: chainID, Hash: t.Hash, From: address(t.From), To: address(t.To), Value: t.Value.int(), Input: unhex(t.Input),
		OK: r.Status.int().Sign() > 0, GasUsed: r.GasUsed.int(), GasPrice: r.EffectiveGasPrice.int(), L1Fee: r.L1Fee.int(),
	}
	for _, l := range r.Logs {
		c.Logs = append(c.Logs, Log{address(l.Address), l.Topics, unhex(l.Data), l.LogIndex.int().Uint64()})
	}
	if len(trace) > 0 {
		var root frame
		if err := json.Unmarshal(trace, &root); err != nil {
			return nil, fmt.Errorf("read trace of %s: %w", t.Hash, err)
		}
		c.traced = true
		c.pay(&root)
	}
	return c, nil
}

// pay collects what a frame and those within it paid, unless it failed.
func (c *Case) pay(f *frame) {
	if f.Error != "" {
		return
	}
	switch f.Type {
	case "CALL", "CREATE", "CREATE2", "SELFDESTRUCT":
		if wei := f.Value.int(); wei.Sign() > 0 {
			c.payments = append(c.payments, payment{address(f.From), address(f.To), wei})
		}
	}
	for i := range f.Calls {
		c.pay(&f.Calls[i])
	}
}

// Paid adds a payment of native coin that a call made, for what was recorded in another form.
func (c *Case) Paid(from, to api.Addr, wei *big.Int) {
	c.traced = true
	c.payments = append(c.payments, payment{from, to, wei})
}

func unhex(s string) []byte {
	b, _ := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	return b
}

// address is the last 20 bytes of a hex text: a word of a log, or the address itself.
func address(s string) (a api.Addr) {
	if b := unhex(s); len(b) >= len(a) {
		copy(a[:], b[len(b)-len(a):])
	}
	return a
}

func topic(signature string) string {
	return "0x" + hex.EncodeToString(crypto.Keccak256([]byte(signature)))
}

func selector(signature string) string { return string(crypto.Keccak256([]byte(signature))[:4]) }

// is reports whether the log is of an event, with so many indexed arguments.
func (l *Log) is(signature string, indexed int) bool {
	return len(l.Topics) == indexed+1 && l.Topics[0] == topic(signature)
}

// word is a word of the data.
func (l *Log) word(n int) *big.Int {
	if len(l.Data) < 32*n+32 {
		return new(big.Int)
	}
	return new(big.Int).SetBytes(l.Data[32*n : 32*n+32])
}

// signed is a word of the data in two's complement.
func (l *Log) signed(n int) *big.Int {
	v := l.word(n)
	if v.Bit(255) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	return v
}

// movement is a transfer of a fungible token.
type movement struct {
	token, from, to api.Addr
	amount          *big.Int
	log             *Log
}

var transferTopic = topic("Transfer(address,address,uint256)")

// movements are the logs of ERC-20 transfers.
func (c *Case) movements() (list []movement) {
	for i := range c.Logs {
		if l := &c.Logs[i]; len(l.Topics) == 3 && l.Topics[0] == transferTopic && len(l.Data) == 32 {
			list = append(list, movement{l.Address, address(l.Topics[1]), address(l.Topics[2]), l.word(0), l})
		}
	}
	return list
}

// net is what an account has more or less of at the end, by token; the zero address is the
// native coin, without the fee. It is nil where NFTs moved or the coin of an account cannot be
// known.
func (c *Case) net(who api.Addr) map[api.Addr]*big.Int {
	sum := map[api.Addr]*big.Int{}
	add := func(token api.Addr, n *big.Int, sign int) {
		if sum[token] == nil {
			sum[token] = new(big.Int)
		}
		sum[token].Add(sum[token], new(big.Int).Mul(n, big.NewInt(int64(sign))))
	}
	for i := range c.Logs {
		l := &c.Logs[i]
		if len(l.Topics) == 4 && l.Topics[0] == transferTopic || l.Topics != nil && strings.HasPrefix(l.Topics[0], "0xc3d58168") {
			return nil
		}
	}
	for _, m := range c.movements() {
		if m.from == who {
			add(m.token, m.amount, -1)
		}
		if m.to == who {
			add(m.token, m.amount, 1)
		}
	}
	for _, p := range c.payments {
		if p.from == who {
			add(api.Addr{}, p.wei, -1)
		}
		if p.to == who {
			add(api.Addr{}, p.wei, 1)
		}
	}
	if !c.traced && who == c.From && c.Value.Sign() > 0 {
		add(api.Addr{}, c.Value, -1)
	}
	for token, n := range sum {
		if n.Sign() == 0 {
			delete(sum, token)
		}
	}
	return sum
}
