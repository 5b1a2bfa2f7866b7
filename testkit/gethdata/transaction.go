package gethdata

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"

	"txlens/engine/ethrpc"
)

func (c *Case) signer() types.Signer {
	return types.MakeSigner(c.Config, c.header.Number, c.header.Time)
}

// setTransaction recovers the sender and fills Tx and Block.
func (c *Case) setTransaction() error {
	from, err := types.Sender(c.signer(), c.raw)
	if err != nil {
		return fmt.Errorf("recover sender: %w", err)
	}
	h, tx := c.header, c.raw
	number, index, hash := h.Number.Uint64(), uint64(0), h.Hash()
	v, r, s := tx.RawSignatureValues()
	c.Tx = &ethrpc.Transaction{
		Hash:        tx.Hash(),
		Type:        uint64(tx.Type()),
		From:        from,
		To:          tx.To(),
		Nonce:       tx.Nonce(),
		Gas:         tx.Gas(),
		GasPrice:    c.price(),
		Value:       tx.Value(),
		Input:       tx.Data(),
		BlockHash:   &hash,
		BlockNumber: &number,
		Index:       &index,
		BlobHashes:  tx.BlobHashes(),
		MaxBlobFee:  tx.BlobGasFeeCap(),
		V:           v, R: r, S: s,
	}
	if tx.Protected() {
		c.Tx.ChainID = tx.ChainId()
	}
	if tx.Type() >= types.DynamicFeeTxType {
		c.Tx.MaxFee, c.Tx.MaxTip = tx.GasFeeCap(), tx.GasTipCap()
	}
	for _, t := range tx.AccessList() {
		c.Tx.AccessList = append(c.Tx.AccessList, ethrpc.AccessTuple{Address: t.Address, StorageKeys: t.StorageKeys})
	}
	for _, a := range tx.SetCodeAuthorizations() {
		c.Tx.Authorizations = append(c.Tx.Authorizations, ethrpc.Authorization{
			ChainID: a.ChainID.ToBig(), Address: a.Address, Nonce: a.Nonce, V: a.V, R: a.R.ToBig(), S: a.S.ToBig(),
		})
	}
	c.Block = &ethrpc.Block{
		Number:        number,
		Hash:          hash,
		ParentHash:    h.ParentHash,
		Timestamp:     h.Time,
		Miner:         h.Coinbase,
		BaseFee:       h.BaseFee,
		GasLimit:      h.GasLimit,
		Difficulty:    h.Difficulty,
		MixHash:       h.MixDigest,
		ExcessBlobGas: h.ExcessBlobGas,
		Withdrawals:   -1,
	}
	return nil
}

// price is what the sender paid per gas: the base fee and the tip, capped (EIP-1559).
func (c *Case) price() *big.Int {
	tx := c.raw
	if c.header.BaseFee == nil {
		return tx.GasPrice()
	}
	sum := new(big.Int).Add(c.header.BaseFee, tx.GasTipCap())
	if sum.Cmp(tx.GasFeeCap()) > 0 {
		return tx.GasFeeCap()
	}
	return sum
}
