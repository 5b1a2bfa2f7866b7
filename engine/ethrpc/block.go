package ethrpc

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/ethrpc/rpcjson"
)

// readBlock reads the object of a block. Chains add header fields of their own;
// what a re-execution and the ledger need is kept.
func readBlock(r *rpcjson.Reader) *Block {
	b := &Block{Withdrawals: -1}
	if !r.Object() {
		return b
	}
	r.Pack = true
	var number, time *uint64
	var hash bool
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "number":
			number = r.Uint64Ptr()
		case "hash":
			hash = r.Hash(&b.Hash)
		case "timestamp":
			time = r.Uint64Ptr()
		case "transactions":
			readBlockTransactions(r, b)
		case "withdrawals":
			b.Withdrawals = count(r)
		default:
			readHeader(r, b, name)
		}
	}
	r.Require(number != nil, "number")
	r.Require(hash, "hash")
	r.Require(time != nil, "timestamp")
	if r.Err() == nil {
		b.Number, b.Timestamp = *number, *time
	}
	return b
}

func readHeader(r *rpcjson.Reader, b *Block, name []byte) {
	switch string(name) {
	case "parentHash":
		r.Hash(&b.ParentHash)
	case "miner":
		r.Address(&b.Miner)
	case "baseFeePerGas":
		b.BaseFee = r.Big()
	case "gasLimit":
		b.GasLimit = r.Uint64()
	case "gasUsed":
		b.GasUsed = r.Uint64()
	case "difficulty":
		b.Difficulty = r.Big()
	case "mixHash":
		r.Hash(&b.MixHash)
	case "extraData":
		b.ExtraData = r.Bytes()
	case "excessBlobGas":
		b.ExcessBlobGas = r.Uint64Ptr()
	case "blobGasUsed":
		b.BlobGasUsed = r.Uint64Ptr()
	case "parentBeaconBlockRoot":
		b.ParentBeaconRoot = r.HashPtr()
	default:
		r.Skip()
	}
}

// readBlockTransactions reads hashes or whole transactions, as each element says.
func readBlockTransactions(r *rpcjson.Reader, b *Block) {
	if !r.Array() {
		return
	}
	b.TxHashes, b.Transactions = nil, nil
	for r.More() {
		if full(r, len(b.TxHashes), maxTransactions, "transactions") {
			return
		}
		var h common.Hash
		if r.Kind() == '{' {
			t := readTransaction(r)
			b.Transactions = append(b.Transactions, t)
			h = t.Hash
		} else {
			requireHash(r, &h)
		}
		b.TxHashes = append(b.TxHashes, h)
	}
	if n := len(b.Transactions); n != 0 && n != len(b.TxHashes) {
		r.Fail(errors.New("transactions: hashes and objects mixed"))
	}
}

// count gives the number of elements of an array, -1 for null.
func count(r *rpcjson.Reader) int {
	if !r.Array() {
		return -1
	}
	n := 0
	for r.More() {
		r.Skip()
		n++
	}
	return n
}
