package ethrpc

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/ethrpc/rpcjson"
)

// ErrNull is the answer null: the node knows nothing of what was asked.
var ErrNull = errors.New("the node answered null")

// Bounds on counts that no block on any chain reaches. They keep a hostile answer
// from growing far beyond its own size.
const (
	maxTopics         = 4 // LOG4, yellow paper appendix H
	maxAccessTuples   = 1 << 17
	maxAuthorizations = 1 << 14
	maxBlobs          = 1 << 10
	maxTransactions   = 1 << 17
	maxLogs           = 1 << 20
	maxAccounts       = 1 << 18
)

// ParseTransaction reads the result of eth_getTransactionByHash. It gives ErrNull
// for null, and otherwise an error that names the field.
func ParseTransaction(b []byte) (*Transaction, error) {
	return parse(b, "transaction", readTransaction)
}

// ParseReceipt reads the result of eth_getTransactionReceipt, like ParseTransaction.
func ParseReceipt(b []byte) (*Receipt, error) { return parse(b, "receipt", readReceipt) }

// ParseBlock reads the result of eth_getBlockByNumber with transaction hashes or
// with full transactions, like ParseTransaction.
func ParseBlock(b []byte) (*Block, error) { return parse(b, "block", readBlock) }

// ParseStateDiff reads the result of prestateTracer in diff mode, like ParseTransaction.
func ParseStateDiff(b []byte) (*StateDiff, error) { return parse(b, "state diff", readStateDiff) }

// DecodeTransaction reads a transaction as the next value of dec.
func DecodeTransaction(dec *jsontext.Decoder) (*Transaction, error) {
	return read(rpcjson.New(dec), "transaction", readTransaction)
}

// DecodeReceipt reads a receipt as the next value of dec.
func DecodeReceipt(dec *jsontext.Decoder) (*Receipt, error) {
	return read(rpcjson.New(dec), "receipt", readReceipt)
}

// DecodeBlock reads a block as the next value of dec.
func DecodeBlock(dec *jsontext.Decoder) (*Block, error) {
	return read(rpcjson.New(dec), "block", readBlock)
}

// DecodeStateDiff reads a state diff as the next value of dec.
func DecodeStateDiff(dec *jsontext.Decoder) (*StateDiff, error) {
	return read(rpcjson.New(dec), "state diff", readStateDiff)
}

func parse[T any](b []byte, what string, f func(*rpcjson.Reader) *T) (out *T, err error) {
	var inner error
	err = rpcjson.Parse(b, func(r *rpcjson.Reader) error {
		out, inner = read(r, what, f)
		return inner
	})
	if err != nil && inner == nil {
		err = fmt.Errorf("read %s: %w", what, err)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// read runs f, whose object must not be null, and wraps the reader's error.
func read[T any](r *rpcjson.Reader, what string, f func(*rpcjson.Reader) *T) (*T, error) {
	if r.Null() {
		return nil, fmt.Errorf("read %s: %w", what, ErrNull)
	}
	out := f(r)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return out, nil
}

// full refuses an element beyond a bound.
func full(r *rpcjson.Reader, n, limit int, what string) bool {
	if n < limit {
		return false
	}
	r.Fail(fmt.Errorf("more than %d %s", limit, what))
	return true
}

// readHashes reads an array of hashes, of which there are at most limit.
func readHashes(r *rpcjson.Reader, limit int, what string) []common.Hash {
	if !r.Array() {
		return nil
	}
	out := []common.Hash{}
	for r.More() {
		if full(r, len(out), limit, what) {
			return nil
		}
		out = append(out, common.Hash{})
		requireHash(r, &out[len(out)-1])
	}
	return out
}
