package zoo

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/meter"
	"txlens/engine/upstream"
)

// account is one that signs. Its key comes from its name.
type account struct {
	name string
	addr common.Address
	key  *ecdsa.PrivateKey
}

func newAccount(name string) account {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("txlens zoo: " + name)))
	if err != nil {
		panic(err)
	}
	return account{name, crypto.PubkeyToAddress(key.PublicKey), key}
}

// sign is the signature of a digest with v of 27 or 28, as contracts want it.
func (a account) sign(digest []byte) []byte {
	sig, err := crypto.Sign(digest, a.key)
	if err != nil {
		panic(err)
	}
	sig[64] += 27
	return sig
}

// world is the chain as one script sees it.
type world struct {
	tb     testing.TB
	node   *chainNode
	head   *types.Header
	later  uint64 // seconds that the next block comes after its time
	nonces map[common.Address]uint64
	names  map[common.Address]string // of contracts, for what is expected
	made   map[string]contract       // by once
}

// on is a world that goes on from this block.
func on(tb testing.TB, n *chainNode, head *types.Header) *world {
	return &world{tb: tb, node: n, head: head, nonces: map[common.Address]uint64{}, names: map[common.Address]string{}, made: map[string]contract{}}
}

// name lets an address be named in what is expected.
func (w *world) name(name string, addr common.Address) { w.names[addr] = name }

// tx is a transaction to be.
type tx struct {
	from  account
	to    *common.Address // nil: a contract is made
	value *big.Int
	data  []byte
	gas   uint64 // 0: 8,000,000
	tip   int64  // gwei; 0: 1
	auth  []types.SetCodeAuthorization
	fails bool // it is to revert; any other must not
}

func (w *world) sign(t tx) *types.Transaction {
	w.tb.Helper()
	nonce := w.nonce(t.from)
	w.nonces[t.from.addr] = nonce + 1
	gas, tip, value := t.gas, big.NewInt(max(t.tip, 1)*params.GWei), t.value
	if gas == 0 {
		gas = 8_000_000
	}
	if value == nil {
		value = new(big.Int)
	}
	feeCap := new(big.Int).Add(tip, big.NewInt(50*params.GWei))
	var body types.TxData = &types.DynamicFeeTx{ChainID: big.NewInt(1), Nonce: nonce, GasTipCap: tip, GasFeeCap: feeCap, Gas: gas, To: t.to, Value: value, Data: t.data}
	if t.auth != nil {
		body = &types.SetCodeTx{ChainID: unsigned(big.NewInt(1)), Nonce: nonce, GasTipCap: unsigned(tip), GasFeeCap: unsigned(feeCap), Gas: gas, To: *t.to, Value: unsigned(value), Data: t.data, AuthList: t.auth}
	}
	signed, err := types.SignNewTx(t.from.key, types.LatestSigner(chainConfig()), body)
	if err != nil {
		w.tb.Fatalf("sign transaction of %s: %v", t.from.name, err)
	}
	return signed
}

// nonce is that of the account's next transaction.
func (w *world) nonce(a account) uint64 {
	if n, ok := w.nonces[a.addr]; ok {
		return n
	}
	st, err := w.node.eth.BlockChain().StateAt(w.head.Root, w.head.Number, w.head.Time)
	if err != nil {
		w.tb.Fatalf("read state: %v", err)
	}
	return st.GetNonce(a.addr)
}

// mine makes one block of these transactions in this order and returns their hashes.
func (w *world) mine(txs ...tx) []common.Hash {
	w.tb.Helper()
	signed, hashes := make([]*types.Transaction, len(txs)), make([]common.Hash, len(txs))
	for i, t := range txs {
		signed[i] = w.sign(t)
		hashes[i] = signed[i].Hash()
	}
	block, err := w.node.seal(w.head, w.head.Time+slot+w.later, signed)
	if err != nil {
		w.tb.Fatal(err)
	}
	w.head, w.later = block.Header(), 0
	if got := len(block.Transactions()); got != len(txs) {
		w.tb.Fatalf("the block has %d transactions of %d", got, len(txs))
	}
	for i, r := range w.node.eth.BlockChain().GetReceiptsByHash(block.Hash()) {
		if failed := r.Status == types.ReceiptStatusFailed; failed != txs[i].fails {
			w.tb.Fatalf("transaction %d of %s in block %d: failed %v, want %v: %s", i, txs[i].from.name, block.Number(), failed, txs[i].fails, w.whyFailed(txs[i]))
		}
	}
	return hashes
}

// whyFailed asks again, with what the block left behind.
func (w *world) whyFailed(t tx) string {
	_, err := w.node.client.CallContract(context.Background(), ethereum.CallMsg{From: t.from.addr, To: t.to, Value: t.value, Data: t.data}, nil)
	if err == nil {
		return "unknown"
	}
	if e, ok := err.(interface{ ErrorData() any }); ok {
		return fmt.Sprintf("%v %v", err, e.ErrorData())
	}
	return err.Error()
}

// wait makes the next block come this much later.
func (w *world) wait(d time.Duration) { w.later += uint64(d / time.Second) }

// skip lets blocks go by. None is empty: what earlier scripts left in the pool of the
// node would go into it.
func (w *world) skip(blocks int) {
	w.tb.Helper()
	for range blocks {
		w.transfer(who("frank"), who("frank").addr, new(big.Int))
	}
}

// now is the time of the next block.
func (w *world) now() *big.Int { return new(big.Int).SetUint64(w.head.Time + slot + w.later) }

// deadline is an hour from now.
func (w *world) deadline() *big.Int { return new(big.Int).Add(w.now(), big.NewInt(3600)) }

// calling is the transaction that calls a method.
func (w *world) calling(from account, c contract, method string, args ...any) tx {
	w.tb.Helper()
	return tx{from: from, to: &c.addr, data: c.pack(w.tb, method, args...)}
}

// call mines one call in a block of its own.
func (w *world) call(from account, c contract, method string, args ...any) common.Hash {
	w.tb.Helper()
	return w.mine(w.calling(from, c, method, args...))[0]
}

// pay is call with coins.
func (w *world) pay(from account, wei *big.Int, c contract, method string, args ...any) common.Hash {
	w.tb.Helper()
	t := w.calling(from, c, method, args...)
	t.value = wei
	return w.mine(t)[0]
}

// failing is call where the transaction is to revert.
func (w *world) failing(from account, c contract, method string, args ...any) common.Hash {
	w.tb.Helper()
	t := w.calling(from, c, method, args...)
	t.fails = true
	return w.mine(t)[0]
}

// transfer mines a plain payment of coins.
func (w *world) transfer(from account, to common.Address, wei *big.Int) common.Hash {
	w.tb.Helper()
	return w.mine(tx{from: from, to: &to, value: wei})[0]
}

// deploy mines the transaction that makes a contract.
func (w *world) deploy(from account, a *artefact, args ...any) contract {
	w.tb.Helper()
	made, _ := w.deployment(from, a, args...)
	return made
}

// deployment is deploy for scripts that are about the deployment.
func (w *world) deployment(from account, a *artefact, args ...any) (contract, common.Hash) {
	w.tb.Helper()
	addr := crypto.CreateAddress(from.addr, w.nonce(from))
	hash := w.mine(tx{from: from, data: a.creation(w.tb, args...), gas: 16_000_000})[0]
	return contract{addr, a.abi}, hash
}

// read asks a method at the head, without a transaction.
func (w *world) read(c contract, method string, args ...any) []any {
	w.tb.Helper()
	out, err := w.node.client.CallContract(context.Background(), ethereum.CallMsg{To: &c.addr, Data: c.pack(w.tb, method, args...)}, nil)
	if err != nil {
		w.tb.Fatalf("read %s of %s: %v", method, c.addr, err)
	}
	values, err := c.abi.Unpack(method, out)
	if err != nil {
		w.tb.Fatalf("read %s of %s: %v", method, c.addr, err)
	}
	return values
}

// one is the only value that a method answers.
func one[T any](w *world, c contract, method string, args ...any) T {
	w.tb.Helper()
	values := w.read(c, method, args...)
	v, ok := values[0].(T)
	if !ok || len(values) != 1 {
		w.tb.Fatalf("%s of %s answers %v", method, c.addr, values)
	}
	return v
}

// authorize signs over the account to the code of another address (EIP-7702). Where
// the account sends the transaction itself its nonce is one ahead.
func (w *world) authorize(a account, code common.Address, own bool) types.SetCodeAuthorization {
	w.tb.Helper()
	nonce := w.nonce(a)
	if own {
		nonce++
	} else {
		w.nonces[a.addr] = nonce + 1
	}
	auth, err := types.SignSetCode(a.key, types.SetCodeAuthorization{ChainID: *unsigned(big.NewInt(1)), Address: code, Nonce: nonce})
	if err != nil {
		w.tb.Fatalf("sign authorization: %v", err)
	}
	return auth
}

// explain asks the program as an operator's own deployment would: this node and
// nobody else.
func (w *world) explain(hash common.Hash, about string) *api.Result {
	w.tb.Helper()
	return w.explainWith(hash, about, nil)
}

// explainWith is explain with a model that looks at what the rules found.
func (w *world) explainWith(hash common.Hash, about string, model *analysis.Agent) *api.Result {
	w.tb.Helper()
	client, err := upstream.New(upstream.Config{Endpoints: map[uint64][]string{1: {w.node.url}}, RPCOnly: true, SourcesOff: true, MaxConcurrent: 32})
	if err != nil {
		w.tb.Fatal(err)
	}
	defer client.Close()
	ethereum, _ := chain.ByID(1)
	x := analysis.New(analysis.Options{Chains: []*chain.Chain{ethereum}, SourcesOff: true, Version: "zoo", Agent: model})
	defer x.Close()
	m, rec := &meter.Meter{}, recorder()
	res, err := x.Explain(w.tb.Context(), analysis.Input{
		Request: api.Request{TxHash: hash.Hex(), ChainID: 1, Context: about}, World: client.Session(m, rec), Meter: m,
	})
	if err != nil {
		w.tb.Fatalf("explain %s: %v", hash, err)
	}
	keep(w.tb, rec, hash, about)
	return res
}

// emitted is the first event of this name that a contract emitted in a transaction.
func (w *world) emitted(hash common.Hash, c contract, event string) map[string]any {
	w.tb.Helper()
	rc, err := w.node.client.TransactionReceipt(context.Background(), hash)
	if err != nil {
		w.tb.Fatalf("read receipt: %v", err)
	}
	e := c.abi.Events[event]
	for _, l := range rc.Logs {
		if l.Address != c.addr || len(l.Topics) == 0 || l.Topics[0] != e.ID {
			continue
		}
		values := map[string]any{}
		if err := c.abi.UnpackIntoMap(values, event, l.Data); err != nil && len(l.Data) > 0 {
			w.tb.Fatalf("read event %s: %v", event, err)
		}
		var indexed abi.Arguments
		for _, in := range e.Inputs {
			if in.Indexed {
				indexed = append(indexed, in)
			}
		}
		if err := abi.ParseTopicsIntoMap(values, indexed, l.Topics[1:]); err != nil {
			w.tb.Fatalf("read event %s: %v", event, err)
		}
		return values
	}
	w.tb.Fatalf("%s emitted no %s", c.addr, event)
	return nil
}
