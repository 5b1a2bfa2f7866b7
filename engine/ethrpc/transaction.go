package ethrpc

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/ethrpc/rpcjson"
)

// readTransaction reads the object of a transaction. Nodes differ: the type is
// absent before Berlin, deposits carry no price and no signature, gasPrice is null
// on some pending ones. Only what identifies the transaction is required.
func readTransaction(r *rpcjson.Reader) *Transaction {
	t := new(Transaction)
	if !r.Object() {
		return t
	}
	var hash, from bool
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "hash":
			hash = r.Hash(&t.Hash)
		case "from":
			from = r.Address(&t.From)
		case "input", "data":
			// Some nodes give both names; they say the same.
			if in := r.Bytes(); t.Input == nil {
				t.Input = in
			}
		case "to":
			t.To = r.AddressPtr()
		case "blockHash":
			t.BlockHash = r.HashPtr()
		case "blockNumber":
			t.BlockNumber = r.Uint64Ptr()
		case "transactionIndex":
			t.Index = r.Uint64Ptr()
		default:
			readEnvelope(r, t, name)
		}
	}
	r.Require(hash, "hash")
	r.Require(from, "from")
	if t.Value == nil {
		t.Value = new(big.Int)
	}
	return t
}

func readEnvelope(r *rpcjson.Reader, t *Transaction, name []byte) {
	switch string(name) {
	case "type":
		t.Type = r.Uint64()
	case "chainId":
		t.ChainID = r.Big()
	case "nonce":
		t.Nonce = r.Uint64()
	case "gas":
		t.Gas = r.Uint64()
	case "gasPrice":
		t.GasPrice = r.Big()
	case "maxFeePerGas":
		t.MaxFee = r.Big()
	case "maxPriorityFeePerGas":
		t.MaxTip = r.Big()
	case "value":
		t.Value = r.Big()
	case "accessList":
		t.AccessList = readAccessList(r)
	case "authorizationList":
		t.Authorizations = readAuthorizations(r)
	case "blobVersionedHashes":
		t.BlobHashes = readHashes(r, maxBlobs, "blobs")
	case "maxFeePerBlobGas":
		t.MaxBlobFee = r.Big()
	default:
		readTail(r, t, name)
	}
}

// readTail reads the signature and what only rollups say.
func readTail(r *rpcjson.Reader, t *Transaction, name []byte) {
	switch string(name) {
	case "v":
		// v stands even where yParity came first: of legacy transactions it says more.
		if v := r.Big(); v != nil {
			t.V = v
		}
	case "yParity":
		if y := r.Big(); t.V == nil {
			t.V = y
		}
	case "r":
		t.R = r.Big()
	case "s":
		t.S = r.Big()
	case "sourceHash":
		t.SourceHash = r.HashPtr()
	case "mint":
		t.Mint = r.Big()
	case "isSystemTx":
		t.IsSystemTx = r.Bool()
	case "feeCurrency":
		t.FeeCurrency = r.AddressPtr()
	case "feePayer":
		t.FeePayer = r.AddressPtr()
	case "feeRatio":
		t.FeeRatio = r.Uint64()
	default:
		r.Skip()
	}
}

func readAccessList(r *rpcjson.Reader) []AccessTuple {
	if !r.Array() {
		return nil
	}
	out := []AccessTuple{}
	for r.More() {
		if full(r, len(out), maxAccessTuples, "access list entries") || !enter(r) {
			return nil
		}
		var a AccessTuple
		var address bool
		for name := r.Field(); name != nil; name = r.Field() {
			switch string(name) {
			case "address":
				address = r.Address(&a.Address)
			case "storageKeys":
				a.StorageKeys = readHashes(r, maxAccessTuples, "storage keys")
			default:
				r.Skip()
			}
		}
		r.Require(address, "address")
		out = append(out, a)
	}
	return out
}

func readAuthorizations(r *rpcjson.Reader) []Authorization {
	if !r.Array() {
		return nil
	}
	out := []Authorization{}
	for r.More() {
		if full(r, len(out), maxAuthorizations, "authorizations") || !enter(r) {
			return nil
		}
		out = append(out, readAuthorization(r))
	}
	return out
}

func readAuthorization(r *rpcjson.Reader) (a Authorization) {
	var address bool
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "chainId":
			a.ChainID = r.Big()
		case "address":
			address = r.Address(&a.Address)
		case "nonce":
			a.Nonce = r.Uint64()
		case "yParity", "v":
			v := r.Uint64()
			if v > 255 {
				r.Fail(fmt.Errorf("y parity %d above 8 bits", v))
			}
			a.V = uint8(v)
		case "r":
			a.R = r.Big()
		case "s":
			a.S = r.Big()
		default:
			r.Skip()
		}
	}
	r.Require(address, "address")
	return a
}

// enter goes into an object that may not be null.
func enter(r *rpcjson.Reader) bool {
	ok := r.Object()
	r.Require(ok, "object")
	return ok
}

// requireHash reads a hash that may not be null.
func requireHash(r *rpcjson.Reader, h *common.Hash) { r.Require(r.Hash(h), "hash") }
