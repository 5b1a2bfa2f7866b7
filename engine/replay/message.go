package replay

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"txlens/engine/ethrpc"
)

// message converts a transaction for go-ethereum's state transition. The sender is the one
// that the node recovered; signatures are not checked again. The caller has checked the
// type.
func message(tx *ethrpc.Transaction, baseFee *big.Int) (*core.Message, error) {
	var n converter
	msg := &core.Message{
		To:       tx.To,
		From:     tx.From,
		Nonce:    tx.Nonce,
		Value:    n.u256("value", tx.Value),
		GasLimit: tx.Gas,
		Data:     tx.Input,
	}
	setPrice(msg, tx, baseFee, &n)
	if tx.Type >= types.AccessListTxType {
		msg.AccessList = accessList(tx)
	}
	if tx.Type == types.BlobTxType {
		msg.BlobHashes = append(msg.BlobHashes, tx.BlobHashes...)
		msg.BlobGasFeeCap = n.u256("maxFeePerBlobGas", tx.MaxBlobFee)
	}
	if tx.Type == types.SetCodeTxType {
		msg.SetCodeAuthorizations = authorizations(tx, &n)
	}
	if n.err != nil {
		return nil, fmt.Errorf("read transaction %s: %w", tx.Hash, n.err)
	}
	return msg, nil
}

// setPrice computes the price per gas: under EIP-1559 the base fee plus the tip, capped.
// GasPrice of the node's answer is not used if caps are given, because nodes fill it in
// differently.
func setPrice(msg *core.Message, tx *ethrpc.Transaction, baseFee *big.Int, n *converter) {
	if tx.Type < types.DynamicFeeTxType || tx.MaxFee == nil || tx.MaxTip == nil {
		price := n.u256("gasPrice", tx.GasPrice)
		msg.GasPrice, msg.GasFeeCap, msg.GasTipCap = price, price, price
		return
	}
	msg.GasFeeCap, msg.GasTipCap = n.u256("maxFeePerGas", tx.MaxFee), n.u256("maxPriorityFeePerGas", tx.MaxTip)
	msg.GasPrice = msg.GasFeeCap
	if baseFee == nil {
		return
	}
	if sum := n.u256("gas price", new(big.Int).Add(baseFee, tx.MaxTip)); sum.Lt(msg.GasFeeCap) {
		msg.GasPrice = sum
	}
}

func accessList(tx *ethrpc.Transaction) types.AccessList {
	list := make(types.AccessList, len(tx.AccessList))
	for i, t := range tx.AccessList {
		list[i] = types.AccessTuple{Address: t.Address, StorageKeys: t.StorageKeys}
	}
	return list
}

func authorizations(tx *ethrpc.Transaction, n *converter) []types.SetCodeAuthorization {
	list := make([]types.SetCodeAuthorization, len(tx.Authorizations))
	for i, a := range tx.Authorizations {
		list[i] = types.SetCodeAuthorization{
			ChainID: *n.u256("authorization chainId", a.ChainID),
			Address: a.Address,
			Nonce:   a.Nonce,
			V:       a.V,
			R:       *n.u256("authorization r", a.R),
			S:       *n.u256("authorization s", a.S),
		}
	}
	return list
}

// converter converts integers and keeps the first error.
type converter struct{ err error }

// u256 never returns nil. A missing, negative or too large number is an error.
func (n *converter) u256(what string, b *big.Int) *uint256.Int {
	if b == nil || b.Sign() < 0 || b.BitLen() > 256 {
		if n.err == nil {
			n.err = fmt.Errorf("%s is not a 256-bit number", what)
		}
		return new(uint256.Int)
	}
	return uint256.MustFromBig(b)
}
