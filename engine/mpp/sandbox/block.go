package sandbox

import (
	"encoding/binary"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// block is a block of the chain. Its hash commits to its place, time, ancestors and
// transactions; it is no hash of an RLP header.
type block struct {
	number       uint64
	time         time.Time
	hash, parent common.Hash
	receipts     []*receipt
	gasUsed      uint64
}

// receipt is a mined transaction and what came of it.
type receipt struct {
	*outcome
	block         *block
	index         int
	firstLog      int
	cumulativeGas uint64
}

// append makes the next block out of a draft.
func (c *Chain) append(at time.Time, d *draft, done []*outcome) {
	b := &block{number: uint64(len(c.blocks)), time: at}
	if b.number > 0 {
		b.parent = c.head().hash
	}
	c.state.write(b.number, d.changes)
	seed := binary.BigEndian.AppendUint64([]byte("txlens sandbox"), c.chainID)
	seed = binary.BigEndian.AppendUint64(seed, b.number)
	seed = binary.BigEndian.AppendUint64(seed, uint64(at.UnixMilli()))
	seed = binary.BigEndian.AppendUint64(seed, c.branch)
	seed = append(seed, b.parent[:]...)
	logs := 0
	for i, out := range done {
		b.gasUsed += out.gasUsed
		r := &receipt{outcome: out, block: b, index: i, firstLog: logs, cumulativeGas: b.gasUsed}
		b.receipts = append(b.receipts, r)
		c.mined[out.tx.Hash] = r
		logs += len(out.logs)
		seed = append(seed, out.tx.Hash[:]...)
	}
	b.hash = crypto.Keccak256Hash(seed)
	c.blocks = append(c.blocks, b)
}

func (b *block) bloom() (all types.Bloom) {
	for _, r := range b.receipts {
		for i, bits := range r.bloom() {
			all[i] |= bits
		}
	}
	return all
}

func (r *receipt) bloom() types.Bloom { return types.CreateBloom(&types.Receipt{Logs: r.logs}) }

// quantity is a number as JSON-RPC writes it.
func quantity(v uint64) hexutil.Uint64 { return hexutil.Uint64(v) }

type blockJSON struct {
	Number           hexutil.Uint64 `json:"number"`
	Hash             common.Hash    `json:"hash"`
	ParentHash       common.Hash    `json:"parentHash"`
	Nonce            hexutil.Bytes  `json:"nonce"`
	MixHash          common.Hash    `json:"mixHash"`
	Sha3Uncles       common.Hash    `json:"sha3Uncles"`
	LogsBloom        types.Bloom    `json:"logsBloom"`
	TransactionsRoot common.Hash    `json:"transactionsRoot"`
	StateRoot        common.Hash    `json:"stateRoot"`
	ReceiptsRoot     common.Hash    `json:"receiptsRoot"`
	Miner            common.Address `json:"miner"`
	Difficulty       hexutil.Uint64 `json:"difficulty"`
	ExtraData        hexutil.Bytes  `json:"extraData"`
	Size             hexutil.Uint64 `json:"size"`
	GasLimit         hexutil.Uint64 `json:"gasLimit"`
	GasUsed          hexutil.Uint64 `json:"gasUsed"`
	Timestamp        hexutil.Uint64 `json:"timestamp"`
	TimestampMillis  hexutil.Uint64 `json:"timestampMillis"`
	BaseFeePerGas    *hexutil.U256  `json:"baseFeePerGas"`
	Transactions     []any          `json:"transactions"`
	Uncles           []common.Hash  `json:"uncles"`
}

// json writes the block as eth_getBlockByNumber does. Roots are zero: there is no
// trie behind them.
func (c *Chain) blockJSON(b *block, full bool) blockJSON {
	out := blockJSON{
		Number: quantity(b.number), Hash: b.hash, ParentHash: b.parent, Nonce: make([]byte, 8),
		Sha3Uncles: types.EmptyUncleHash, LogsBloom: b.bloom(), TransactionsRoot: types.EmptyTxsHash,
		ReceiptsRoot: types.EmptyReceiptsHash, Miner: FeeManager, ExtraData: []byte("txlens sandbox"),
		GasLimit: blockGasLimit, GasUsed: quantity(b.gasUsed), Timestamp: quantity(unixSeconds(b.time)),
		TimestampMillis: quantity(uint64(max(b.time.UnixMilli(), 0))), BaseFeePerGas: (*hexutil.U256)(&c.baseFee),
		Transactions: []any{}, Uncles: []common.Hash{},
	}
	for _, r := range b.receipts {
		if full {
			out.Transactions = append(out.Transactions, r.transactionJSON())
		} else {
			out.Transactions = append(out.Transactions, r.tx.Hash)
		}
	}
	return out
}

type receiptJSON struct {
	Type              hexutil.Uint64  `json:"type"`
	Status            hexutil.Uint64  `json:"status"`
	TransactionHash   common.Hash     `json:"transactionHash"`
	TransactionIndex  hexutil.Uint64  `json:"transactionIndex"`
	BlockHash         common.Hash     `json:"blockHash"`
	BlockNumber       hexutil.Uint64  `json:"blockNumber"`
	From              common.Address  `json:"from"`
	To                common.Address  `json:"to"`
	ContractAddress   *common.Address `json:"contractAddress"`
	CumulativeGasUsed hexutil.Uint64  `json:"cumulativeGasUsed"`
	GasUsed           hexutil.Uint64  `json:"gasUsed"`
	EffectiveGasPrice *hexutil.U256   `json:"effectiveGasPrice"`
	FeePayer          common.Address  `json:"feePayer"`
	FeeToken          common.Address  `json:"feeToken"`
	LogsBloom         types.Bloom     `json:"logsBloom"`
	Logs              []logJSON       `json:"logs"`
	RevertReason      string          `json:"revertReason,omitempty"`
}

func (r *receipt) json() receiptJSON {
	out := receiptJSON{
		Type: TypeTransaction, TransactionHash: r.tx.Hash, TransactionIndex: quantity(uint64(r.index)),
		BlockHash: r.block.hash, BlockNumber: quantity(r.block.number), From: r.tx.Sender, To: r.tx.Calls[0].To,
		CumulativeGasUsed: quantity(r.cumulativeGas), GasUsed: quantity(r.gasUsed),
		EffectiveGasPrice: (*hexutil.U256)(&r.price), FeePayer: r.tx.FeePayer, FeeToken: r.feeToken,
		LogsBloom: r.bloom(), Logs: r.logsJSON(), RevertReason: r.failure,
	}
	if r.ok {
		out.Status = 1
	}
	return out
}

type logJSON struct {
	Address          common.Address `json:"address"`
	Topics           []common.Hash  `json:"topics"`
	Data             hexutil.Bytes  `json:"data"`
	BlockNumber      hexutil.Uint64 `json:"blockNumber"`
	BlockHash        common.Hash    `json:"blockHash"`
	BlockTimestamp   hexutil.Uint64 `json:"blockTimestamp"`
	TransactionHash  common.Hash    `json:"transactionHash"`
	TransactionIndex hexutil.Uint64 `json:"transactionIndex"`
	LogIndex         hexutil.Uint64 `json:"logIndex"`
	Removed          bool           `json:"removed"`
}

func (r *receipt) logsJSON() []logJSON {
	out := make([]logJSON, len(r.logs))
	for i, l := range r.logs {
		out[i] = logJSON{
			Address: l.Address, Topics: l.Topics, Data: l.Data, BlockNumber: quantity(r.block.number),
			BlockHash: r.block.hash, BlockTimestamp: quantity(unixSeconds(r.block.time)), TransactionHash: r.tx.Hash,
			TransactionIndex: quantity(uint64(r.index)), LogIndex: quantity(uint64(r.firstLog + i)),
		}
	}
	return out
}

type callJSON struct {
	To    common.Address `json:"to"`
	Value *hexutil.U256  `json:"value"`
	Data  hexutil.Bytes  `json:"input"`
}

type transactionJSON struct {
	Type                 hexutil.Uint64  `json:"type"`
	Hash                 common.Hash     `json:"hash"`
	ChainID              hexutil.Uint64  `json:"chainId"`
	From                 common.Address  `json:"from"`
	FeePayer             common.Address  `json:"feePayer"`
	FeeToken             *common.Address `json:"feeToken"`
	Nonce                hexutil.Uint64  `json:"nonce"`
	NonceKey             *hexutil.U256   `json:"nonceKey"`
	ValidBefore          hexutil.Uint64  `json:"validBefore"`
	ValidAfter           hexutil.Uint64  `json:"validAfter"`
	Gas                  hexutil.Uint64  `json:"gas"`
	MaxFeePerGas         *hexutil.U256   `json:"maxFeePerGas"`
	MaxPriorityFeePerGas *hexutil.U256   `json:"maxPriorityFeePerGas"`
	Calls                []callJSON      `json:"calls"`
	AccessList           []any           `json:"accessList"`
	BlockHash            *common.Hash    `json:"blockHash"`
	BlockNumber          *hexutil.Uint64 `json:"blockNumber"`
	TransactionIndex     *hexutil.Uint64 `json:"transactionIndex"`
}

// json writes a transaction that waits; a mined one says where besides.
func (t *Transaction) json() transactionJSON {
	out := transactionJSON{
		Type: hexutil.Uint64(t.Type), Hash: t.Hash, ChainID: quantity(t.ChainID), From: t.Sender, FeePayer: t.FeePayer,
		FeeToken: t.FeeToken, Nonce: quantity(t.Nonce), NonceKey: (*hexutil.U256)(&t.NonceKey),
		ValidBefore: quantity(t.ValidBefore), ValidAfter: quantity(t.ValidAfter), Gas: quantity(t.Gas),
		MaxFeePerGas: (*hexutil.U256)(&t.MaxFee), MaxPriorityFeePerGas: (*hexutil.U256)(&t.PriorityFee), AccessList: []any{},
	}
	for i := range t.Calls {
		call := &t.Calls[i]
		out.Calls = append(out.Calls, callJSON{call.To, (*hexutil.U256)(&call.Value), call.Data})
	}
	return out
}

func (r *receipt) transactionJSON() transactionJSON {
	out := r.tx.json()
	number, index := quantity(r.block.number), quantity(uint64(r.index))
	out.BlockHash, out.BlockNumber, out.TransactionIndex = &r.block.hash, &number, &index
	return out
}
