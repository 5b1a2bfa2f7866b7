package gethdata

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// Evidence is what a node answers about the transaction: the result values of the
// JSON-RPC calls.
type Evidence struct {
	Tx        json.RawMessage // eth_getTransactionByHash
	Receipt   json.RawMessage // eth_getTransactionReceipt
	Block     json.RawMessage // eth_getBlockByNumber, hashes only
	BlockFull json.RawMessage // eth_getBlockByNumber, with transactions
	Trace     json.RawMessage // debug_traceTransaction, callTracer withLog
	StateDiff json.RawMessage // debug_traceTransaction, prestateTracer diffMode
}

// object is written with sorted keys, so the same case gives the same bytes.
type object = map[string]any

// BuildEvidence re-executes the case. Receipts carry a status in every era, as
// nodes of today give it after re-execution, because the state root that stood
// there before Byzantium (EIP-658) cannot be had from the recording.
func (c *Case) BuildEvidence() (*Evidence, error) {
	r, err := c.execute()
	if err != nil {
		return nil, fmt.Errorf("build evidence of %s: %w", c.Name, err)
	}
	return c.evidence(r)
}

func (c *Case) evidence(r *run) (*Evidence, error) {
	tx, err := c.txObject()
	if err != nil {
		return nil, fmt.Errorf("write transaction: %w", err)
	}
	e := &Evidence{Trace: r.trace, StateDiff: r.diff}
	for _, part := range []struct {
		to  *json.RawMessage
		val any
	}{
		{&e.Tx, tx},
		{&e.Receipt, c.receiptObject(r.receipt)},
		{&e.Block, c.blockObject(r.receipt, []any{c.raw.Hash()})},
		{&e.BlockFull, c.blockObject(r.receipt, []any{tx})},
	} {
		if *part.to, err = json.Marshal(part.val); err != nil {
			return nil, fmt.Errorf("write answer: %w", err)
		}
	}
	return e, nil
}

// txObject is the envelope as go-ethereum writes it, and its place in the chain.
func (c *Case) txObject() (object, error) {
	raw, err := c.raw.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	o["from"] = c.Tx.From
	o["gasPrice"] = (*hexutil.Big)(c.price())
	c.place(o)
	return o, nil
}

func (c *Case) place(o object) {
	o["blockHash"] = c.header.Hash()
	o["blockNumber"] = (*hexutil.Big)(c.header.Number)
	o["transactionIndex"] = hexutil.Uint64(0)
}

func (c *Case) receiptObject(rc *types.Receipt) object {
	o := object{
		"transactionHash":   c.raw.Hash(),
		"from":              c.Tx.From,
		"to":                c.raw.To(),
		"type":              hexutil.Uint64(c.raw.Type()),
		"status":            hexutil.Uint64(rc.Status),
		"gasUsed":           hexutil.Uint64(rc.GasUsed),
		"cumulativeGasUsed": hexutil.Uint64(rc.CumulativeGasUsed),
		"effectiveGasPrice": (*hexutil.Big)(c.price()),
		"logsBloom":         rc.Bloom,
		"logs":              c.logObjects(rc.Logs),
		"contractAddress":   nil,
	}
	c.place(o)
	if rc.ContractAddress != (common.Address{}) {
		o["contractAddress"] = rc.ContractAddress
	}
	if c.raw.Type() == types.BlobTxType {
		o["blobGasUsed"] = hexutil.Uint64(rc.BlobGasUsed)
		o["blobGasPrice"] = (*hexutil.Big)(rc.BlobGasPrice)
	}
	return o
}

func (c *Case) logObjects(logs []*types.Log) []object {
	out := []object{}
	for _, l := range logs {
		o := object{
			"address":         l.Address,
			"topics":          append([]common.Hash{}, l.Topics...),
			"data":            hexutil.Bytes(l.Data),
			"logIndex":        hexutil.Uint64(l.Index),
			"transactionHash": c.raw.Hash(),
			"removed":         false,
		}
		c.place(o)
		out = append(out, o)
	}
	return out
}

// blockObject has what the recording tells of the header; roots are left out.
func (c *Case) blockObject(rc *types.Receipt, txs []any) object {
	h := c.header
	o := object{
		"number":       (*hexutil.Big)(h.Number),
		"hash":         h.Hash(),
		"parentHash":   h.ParentHash,
		"timestamp":    hexutil.Uint64(h.Time),
		"miner":        h.Coinbase,
		"difficulty":   (*hexutil.Big)(h.Difficulty),
		"gasLimit":     hexutil.Uint64(h.GasLimit),
		"gasUsed":      hexutil.Uint64(rc.GasUsed),
		"extraData":    hexutil.Bytes(h.Extra),
		"mixHash":      h.MixDigest,
		"logsBloom":    rc.Bloom,
		"uncles":       []common.Hash{},
		"transactions": txs,
	}
	if h.BaseFee != nil {
		o["baseFeePerGas"] = (*hexutil.Big)(h.BaseFee)
	}
	if h.ExcessBlobGas != nil {
		o["excessBlobGas"] = hexutil.Uint64(*h.ExcessBlobGas)
		o["blobGasUsed"] = hexutil.Uint64(rc.BlobGasUsed)
	}
	return o
}

// chainID of the recorded configuration.
func (c *Case) chainID() *big.Int { return c.Config.ChainID }
