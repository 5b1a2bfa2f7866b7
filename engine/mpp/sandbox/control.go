package sandbox

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

// controls steer the sandbox from outside. They are open to everyone who reaches it:
// it guards nothing of value.
var controls = map[string]func(*query) (any, error){
	"evm_increaseTime":         (*query).increaseTime,
	"sandbox_increaseTime":     (*query).increaseTime,
	"evm_mine":                 (*query).mine,
	"sandbox_mine":             (*query).mine,
	"sandbox_mint":             (*query).mint,
	"sandbox_setPolicy":        (*query).setPolicy,
	"sandbox_setReceivePolicy": (*query).setReceivePolicy,
	"sandbox_inject":           (*query).inject,
	"sandbox_clearFaults":      func(q *query) (any, error) { q.chain.ClearFaults(); return true, nil },
	"sandbox_reorg":            (*query).reorg,
	"sandbox_calls":            (*query).countCalls,
	"sandbox_books":            func(q *query) (any, error) { return q.chain.Books(), nil },
	"sandbox_inspect":          (*query).inspect,
	"sandbox_info":             func(q *query) (any, error) { return q.chain.info(), nil },
}

// maxSkip bounds one step of time, so that times stay within 32 bits for years.
const maxSkip = 10 * 365 * 24 * time.Hour

// increaseTime takes seconds, as a number or a hex quantity, and gives them back.
func (q *query) increaseTime() (any, error) {
	if !q.has(0) {
		return nil, badParams("missing value for argument 0")
	}
	var seconds uint64
	if bytes.HasPrefix(q.params[0], []byte(`"`)) {
		var hex hexutil.Uint64
		if err := q.param(0, &hex); err != nil {
			return nil, err
		}
		seconds = uint64(hex)
	} else if err := q.param(0, &seconds); err != nil {
		return nil, err
	}
	if seconds > uint64(maxSkip/time.Second) {
		return nil, badParams("more than ten years")
	}
	q.chain.IncreaseTime(time.Duration(seconds) * time.Second)
	return seconds, nil
}

func (q *query) mine() (any, error) {
	q.chain.Mine()
	return "0x0", nil
}

// amount reads base units, as a decimal string, a number or a hex quantity.
func (q *query) amount(at int) (v uint256.Int, err error) {
	var text string
	if q.has(at) && bytes.HasPrefix(q.params[at], []byte(`"`)) {
		if err := q.param(at, &text); err != nil {
			return v, err
		}
	} else {
		var n json.Number
		if err := q.param(at, &n); err != nil {
			return v, err
		}
		text = n.String()
	}
	if bytes.HasPrefix([]byte(text), []byte("0x")) {
		err = v.SetFromHex(text)
	} else {
		err = v.SetFromDecimal(text)
	}
	if err != nil {
		return v, badParams("argument %d is no amount", at)
	}
	return v, nil
}

// mint takes account and amount, and optionally a token.
func (q *query) mint() (any, error) {
	var to, token common.Address
	if err := q.param(0, &to); err != nil {
		return nil, err
	}
	amount, err := q.amount(1)
	if err != nil {
		return nil, err
	}
	if q.has(2) {
		if err := q.param(2, &token); err != nil {
			return nil, err
		}
	}
	return true, q.chain.Mint(token, to, &amount)
}

// setPolicy takes token, account, maySend and mayReceive.
func (q *query) setPolicy() (any, error) {
	var token, account common.Address
	var send, receive bool
	for at, into := range []any{&token, &account, &send, &receive} {
		if err := q.param(at, into); err != nil {
			return nil, err
		}
	}
	q.chain.SetPolicy(token, account, send, receive)
	return true, nil
}

// setReceivePolicy takes account, sender and whether the account accepts what comes from it.
func (q *query) setReceivePolicy() (any, error) {
	var account, sender common.Address
	var accept bool
	for at, into := range []any{&account, &sender, &accept} {
		if err := q.param(at, into); err != nil {
			return nil, err
		}
	}
	q.chain.SetReceivePolicy(account, sender, accept)
	return true, nil
}

func (q *query) inject() (any, error) {
	var f Fault
	if err := q.param(0, &f); err != nil {
		return nil, err
	}
	return true, q.chain.Inject(f)
}

// reorg takes the depth (1) and whether the transactions are lost (false).
func (q *query) reorg() (any, error) {
	depth, drop := 1, false
	if q.has(0) {
		if err := q.param(0, &depth); err != nil {
			return nil, err
		}
	}
	if q.has(1) {
		if err := q.param(1, &drop); err != nil {
			return nil, err
		}
	}
	return true, q.chain.Reorg(depth, drop)
}

// countCalls takes a method; without one it counts all.
func (q *query) countCalls() (any, error) {
	method := All
	if q.has(0) {
		if err := q.param(0, &method); err != nil {
			return nil, err
		}
	}
	return q.chain.Calls(method), nil
}

// inspection is what sandbox_inspect tells of a raw transaction or hand-off.
type inspection struct {
	transactionJSON
	SignHash          common.Hash     `json:"signHash"`
	ExpiringNonceHash common.Hash     `json:"expiringNonceHash"`
	AccessKey         *common.Address `json:"accessKey"`
}

// inspect decodes and recovers without executing.
func (q *query) inspect() (any, error) {
	if q.callErr != nil {
		return nil, q.callErr
	}
	return inspection{q.tx.json(), q.tx.SignHash, q.tx.ExpiringNonceHash, q.tx.AccessKey}, nil
}

type information struct {
	Warning     string           `json:"warning"`
	ChainID     uint64           `json:"chainId"`
	Escrow      common.Address   `json:"escrow"`
	Tokens      []common.Address `json:"tokens"`
	BlockTimeMs int64            `json:"blockTimeMs"`
}

func (c *Chain) info() information {
	return information{Warning, c.chainID, Reserve, c.tokenAddresses(), c.opt.BlockTime.Milliseconds()}
}
