package ethrpc

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/ethrpc/rpcjson"
)

// readStateDiff reads both sides of a diff. An answer without one of them is not
// of diff mode (plain mode lists accounts at the top level) and is refused.
func readStateDiff(r *rpcjson.Reader) *StateDiff {
	d := new(StateDiff)
	if !r.Object() {
		return d
	}
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "pre":
			d.Pre = readAccounts(r)
		case "post":
			d.Post = readAccounts(r)
		default:
			r.Skip()
		}
	}
	r.Require(d.Pre != nil, "pre")
	r.Require(d.Post != nil, "post")
	return d
}

func readAccounts(r *rpcjson.Reader) map[common.Address]*Account {
	if !r.Object() {
		return nil
	}
	out := make(map[common.Address]*Account)
	for name := r.Field(); name != nil; name = r.Field() {
		var at common.Address
		if !r.Name(name, at[:]) || full(r, len(out), maxAccounts, "accounts") {
			return nil
		}
		if out[at] != nil {
			r.Fail(fmt.Errorf("account %s twice", at))
			return nil
		}
		out[at] = readAccount(r)
	}
	return out
}

// readAccount reads one side of an account. Its nonce is a plain number here.
func readAccount(r *rpcjson.Reader) *Account {
	a := new(Account)
	if !r.Object() {
		return a
	}
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "balance":
			a.Balance = r.Big()
		case "nonce":
			a.Nonce = r.Uint64Ptr()
		case "code":
			a.Code = r.Bytes()
		case "storage":
			a.Storage = readStorage(r)
		default:
			r.Skip()
		}
	}
	return a
}

func readStorage(r *rpcjson.Reader) map[common.Hash]common.Hash {
	if !r.Object() {
		return nil
	}
	out := make(map[common.Hash]common.Hash)
	for name := r.Field(); name != nil; name = r.Field() {
		var slot, value common.Hash
		if !r.Name(name, slot[:]) {
			return nil
		}
		if _, ok := out[slot]; ok {
			r.Fail(fmt.Errorf("slot %s twice", slot))
			return nil
		}
		requireHash(r, &value)
		out[slot] = value
	}
	return out
}
