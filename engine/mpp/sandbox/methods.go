package sandbox

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

// ClientVersion is the answer to web3_clientVersion.
const ClientVersion = "txlens-sandbox/not-a-real-chain"

// priorityFee is what the chain proposes as a tip, in attodollars.
const priorityFee = 1_000_000_000

// nativeBalance stands for the balance of a coin that does not exist; wallets refuse
// to send with less. The chain answers the same for every account.
var nativeBalance = uint256.MustFromDecimal("4242424242424242424242424242424242424242424242424242424242424242424242424242")

// methods answer with the chain locked. Whatever is not here is not available,
// eth_fillTransaction above all: clients then fill transactions by themselves.
var methods = map[string]func(*query) (any, error){
	"web3_clientVersion":        func(*query) (any, error) { return ClientVersion, nil },
	"net_version":               func(q *query) (any, error) { return uint256.NewInt(q.chain.chainID).Dec(), nil },
	"eth_chainId":               func(q *query) (any, error) { return quantity(q.chain.chainID), nil },
	"eth_syncing":               func(*query) (any, error) { return false, nil },
	"eth_blockNumber":           func(q *query) (any, error) { return quantity(q.head().number), nil },
	"eth_gasPrice":              func(q *query) (any, error) { return q.chain.gasPrice(), nil },
	"eth_maxPriorityFeePerGas":  func(*query) (any, error) { return quantity(priorityFee), nil },
	"eth_getBlockByNumber":      (*query).blockByNumber,
	"eth_getBlockByHash":        (*query).blockByHash,
	"eth_getBalance":            func(*query) (any, error) { return (*hexutil.U256)(nativeBalance), nil },
	"eth_getCode":               (*query).codeAt,
	"eth_getTransactionCount":   (*query).transactionCount,
	"eth_call":                  (*query).simulate,
	"eth_estimateGas":           (*query).estimate,
	"eth_sendRawTransaction":    (*query).send,
	"eth_getTransactionReceipt": (*query).receipt,
	"eth_getTransactionByHash":  (*query).transaction,
	"eth_getLogs":               (*query).logs,
}

func (c *Chain) gasPrice() *hexutil.U256 {
	price := c.baseFee
	return (*hexutil.U256)(price.AddUint64(&price, priorityFee))
}

var errNoBlock = &Error{Code: codeServer, Message: "header not found"}

// blockAt resolves the block a parameter names: a number, a tag, or an object with a
// number or a hash. Absent means latest.
func (q *query) blockAt(at int) (*block, error) {
	if !q.has(at) {
		return q.head(), nil
	}
	if q.params[at][0] == '{' {
		var ref struct {
			BlockNumber *hexutil.Uint64 `json:"blockNumber"`
			BlockHash   *common.Hash    `json:"blockHash"`
		}
		if err := q.param(at, &ref); err != nil {
			return nil, err
		}
		if ref.BlockHash != nil {
			return q.byHash(*ref.BlockHash)
		}
		if ref.BlockNumber == nil {
			return nil, badParams("argument %d names no block", at)
		}
		return q.byNumber(uint64(*ref.BlockNumber))
	}
	var name string
	if err := q.param(at, &name); err != nil {
		return nil, err
	}
	return q.byName(name)
}

func (q *query) byName(name string) (*block, error) {
	switch name {
	case "latest", "pending", "safe", "finalized":
		return q.head(), nil
	case "earliest":
		return q.chain.blocks[0], nil
	}
	n, err := hexutil.DecodeUint64(name)
	if err != nil {
		return nil, badParams("block %.40q: %v", name, err)
	}
	return q.byNumber(n)
}

func (q *query) byNumber(n uint64) (*block, error) {
	if n > q.head().number {
		return nil, errNoBlock
	}
	return q.chain.blocks[n], nil
}

func (q *query) byHash(hash common.Hash) (*block, error) {
	for n := q.head().number; ; n-- {
		if b := q.chain.blocks[n]; b.hash == hash || n == 0 {
			if b.hash != hash {
				return nil, errNoBlock
			}
			return b, nil
		}
	}
}

func (q *query) blockByNumber() (any, error) {
	if !q.has(0) {
		return nil, badParams("missing value for argument 0")
	}
	b, err := q.blockAt(0)
	return q.block(b, err)
}

func (q *query) blockByHash() (any, error) {
	var hash common.Hash
	if err := q.param(0, &hash); err != nil {
		return nil, err
	}
	b, err := q.byHash(hash)
	return q.block(b, err)
}

func (q *query) block(b *block, err error) (any, error) {
	if err == errNoBlock {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	full := false
	if q.has(1) {
		err = q.param(1, &full)
	}
	return q.chain.blockJSON(b, full), err
}

func (q *query) codeAt() (any, error) {
	var at common.Address
	if err := q.param(0, &at); err != nil {
		return nil, err
	}
	m := &machine{tokens: q.chain.tokens}
	if m.code(at) == nil || isToken(at) && m.tokens[at] == nil {
		return "0x", nil
	}
	return "0xef", nil
}

// transactionCount is the protocol nonce; with pending, what waits counts too.
func (q *query) transactionCount() (any, error) {
	var account common.Address
	if err := q.param(0, &account); err != nil {
		return nil, err
	}
	b, err := q.blockAt(1)
	if err != nil {
		return nil, err
	}
	stored := q.chain.state.at(b.number).get(cell{space: nonceSpace, owner: account})
	nonce := stored.Uint64()
	if q.has(1) && string(q.params[1]) == `"pending"` {
		for _, p := range q.chain.pool {
			if p.tx.Sender == account && p.tx.NonceKey.IsZero() {
				nonce++
			}
		}
	}
	return quantity(nonce), nil
}

// callRequest is a transaction that is only imagined: one call, or the batch of a
// 0x76 transaction.
type callRequest struct {
	From  common.Address  `json:"from"`
	To    *common.Address `json:"to"`
	Data  *hexutil.Bytes  `json:"data"`
	Input *hexutil.Bytes  `json:"input"`
	Type  json.RawMessage `json:"type"`
	Calls []struct {
		To    *common.Address `json:"to"`
		Data  *hexutil.Bytes  `json:"data"`
		Input *hexutil.Bytes  `json:"input"`
	} `json:"calls"`
	KeyType string          `json:"keyType"`
	KeyID   *common.Address `json:"keyId"`

	KeyAuthorization *struct {
		Limits []json.RawMessage `json:"limits"`
	} `json:"keyAuthorization"`
}

func callData(data, input *hexutil.Bytes) []byte {
	if input != nil {
		return *input
	}
	if data != nil {
		return *data
	}
	return nil
}

// batch reports whether the request is a 0x76 transaction.
func (r *callRequest) batch() bool {
	return len(r.Calls) > 0 || strings.EqualFold(string(r.Type), `"0x76"`)
}

func (r *callRequest) list() (calls []Call) {
	if r.To != nil {
		calls = append(calls, Call{To: *r.To, Data: callData(r.Data, r.Input)})
	}
	for _, c := range r.Calls {
		call := Call{Data: callData(c.Data, c.Input)}
		if c.To != nil {
			call.To = *c.To
		}
		calls = append(calls, call)
	}
	return calls
}

// imagine runs the calls of the request over a state and drops the changes. Within a
// 0x76 transaction a channel could be opened, so there is something in place of the
// hash that a signed one would have.
func (q *query) imagine(b *block) (*machine, []byte, error) {
	at := unixSeconds(b.time)
	if b == q.chain.head() {
		at = unixSeconds(q.chain.now())
	}
	m := q.chain.machine(draftOver(q.chain.state.at(b.number)), at)
	if q.call.batch() {
		m.openHash = pairKey(q.call.From, Reserve)
	}
	if q.call.KeyID != nil {
		m.signer = &signerKey{q.call.From, *q.call.KeyID}
	}
	if q.fault.Revert {
		return m, nil, errInjected
	}
	calls := q.call.list()
	if len(calls) > maxCalls {
		return m, nil, badParams("more than %d calls", maxCalls)
	}
	if len(calls) == 1 && !q.call.batch() {
		out, err := m.call(q.call.From, calls[0].To, calls[0].Data)
		return m, out, err
	}
	return m, nil, m.runAll(q.call.From, calls)
}

func (q *query) simulate() (any, error) {
	if q.callErr != nil {
		return nil, q.callErr
	}
	b, err := q.blockAt(1)
	if err != nil {
		return nil, err
	}
	_, out, err := q.imagine(b)
	return hexutil.Bytes(out), err
}

// estimate adds a margin for what the request does not tell, such as the size of the
// signature.
func (q *query) estimate() (any, error) {
	if q.callErr != nil {
		return nil, q.callErr
	}
	b, err := q.blockAt(1)
	if err != nil {
		return nil, err
	}
	m, _, err := q.imagine(b)
	if err != nil {
		return nil, err
	}
	kinds := map[string]keyKind{"p256": p256Key, "webAuthn": webAuthnKey}
	gas := intrinsicGas(&Transaction{Calls: q.call.list(), keyKind: kinds[q.call.KeyType]}) + m.gas
	if auth := q.call.KeyAuthorization; auth != nil {
		gas += keyGas(len(auth.Limits))
	}
	return quantity(gas + gas/10 + 30_000), nil
}

// send puts a transaction into the pool and gives its hash.
func (q *query) send() (any, error) {
	if q.callErr != nil {
		return nil, q.callErr
	}
	if err := q.chain.submit(q.tx, q.fault.Revert); err != nil {
		return nil, err
	}
	return q.tx.Hash, nil
}

// sendSync waits until the transaction is in a block and gives the receipt.
func (q *query) sendSync() (any, error) {
	c := q.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	if _, err := q.send(); err != nil {
		return nil, err
	}
	for {
		if r := c.mined[q.tx.Hash]; r != nil {
			return r.json(), nil
		}
		if !c.waiting(q.tx.Hash) {
			return nil, errors.New("transaction was dropped: it became invalid before its block")
		}
		left := max(c.opt.BlockTime-c.now().Sub(c.head().time), time.Millisecond)
		c.mu.Unlock()
		err := q.wait(left)
		c.mu.Lock()
		if err != nil {
			return nil, err
		}
		c.catchUp()
	}
}

// waiting reports whether a transaction is in the pool.
func (c *Chain) waiting(hash common.Hash) bool {
	for _, p := range c.pool {
		if p.tx.Hash == hash {
			return true
		}
	}
	return false
}

// seen is a mined transaction, unless this replica lacks its block.
func (q *query) seen(hash common.Hash) *receipt {
	r := q.chain.mined[hash]
	if r == nil || r.block.number > q.head().number {
		return nil
	}
	return r
}

func (q *query) receipt() (any, error) {
	var hash common.Hash
	if err := q.param(0, &hash); err != nil {
		return nil, err
	}
	if r := q.seen(hash); r != nil {
		return r.json(), nil
	}
	return nil, nil
}

func (q *query) transaction() (any, error) {
	var hash common.Hash
	if err := q.param(0, &hash); err != nil {
		return nil, err
	}
	if r := q.seen(hash); r != nil {
		return r.transactionJSON(), nil
	}
	for _, p := range q.chain.pool {
		if p.tx.Hash == hash {
			return p.tx.json(), nil
		}
	}
	return nil, nil
}
