package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/ethrpc/rpcjson"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"
)

// The JSON-RPC methods that are called.
const (
	methodTransaction = "eth_getTransactionByHash"
	methodReceipt     = "eth_getTransactionReceipt"
	methodBlock       = "eth_getBlockByNumber"
	methodDebugTrace  = "debug_traceTransaction"
	methodParityTrace = "trace_transaction"
	methodReplayTrace = "trace_replayTransaction"
	methodOtterscan   = "ots_traceTransaction"
	methodBalance     = "eth_getBalance"
	methodNonce       = "eth_getTransactionCount"
	methodCode        = "eth_getCode"
	methodStorage     = "eth_getStorageAt"
	methodCall        = "eth_call"
)

// Ask is one plain call that can be part of a batch; see Warm.
type Ask struct {
	method string
	params []byte
	decode func(*chain.Chain) decodeFunc
	// incomplete is that of rpcCall.
	incomplete func(value any) string
	exists     bool // it is asked for only if it exists; see rpcCall
}

// decodes adapts a reader that does not depend on the chain.
func decodes[T any](read func(*jsontext.Decoder) (T, error)) func(*chain.Chain) decodeFunc {
	return func(*chain.Chain) decodeFunc {
		return func(dec *jsontext.Decoder) (any, error) { return read(dec) }
	}
}

// AskTransaction asks for a transaction.
func AskTransaction(hash common.Hash) Ask {
	return Ask{method: methodTransaction, params: params(hash.Hex()), decode: func(ch *chain.Chain) decodeFunc {
		return func(dec *jsontext.Decoder) (any, error) { return readTransaction(dec, ch, hash) }
	}}
}

// readTransaction rejects a transaction with another hash, or one that is signed for
// another chain. Chain id 0 is what some nodes return for transactions without one.
func readTransaction(dec *jsontext.Decoder, ch *chain.Chain, hash common.Hash) (*ethrpc.Transaction, error) {
	tx, err := ethrpc.DecodeTransaction(dec)
	switch {
	case err != nil:
		return nil, err
	case tx.Hash != hash:
		return nil, protocolError("it is about another transaction")
	case tx.ChainID != nil && tx.ChainID.Sign() != 0 && tx.ChainID.Cmp(new(big.Int).SetUint64(ch.ID)) != 0:
		return nil, newError(KindWrongChain, fmt.Sprintf("the endpoint serves chain %s, not %d", api.Clean(tx.ChainID.String(), 30), ch.ID))
	}
	return tx, nil
}

// AskReceipt asks for a receipt.
func AskReceipt(hash common.Hash) Ask {
	lacks := func(value any) string {
		if value.(*ethrpc.Receipt).LacksLogs() {
			return "the receipt lacks logs that its bloom filter announces"
		}
		return ""
	}
	read := func(dec *jsontext.Decoder) (*ethrpc.Receipt, error) {
		rc, err := ethrpc.DecodeReceipt(dec)
		if err == nil && rc.TxHash != nil && *rc.TxHash != hash {
			return nil, protocolError("it is the receipt of another transaction")
		}
		return rc, err
	}
	return Ask{method: methodReceipt, params: params(hash.Hex()), decode: decodes(read), exists: true, incomplete: lacks}
}

// AskBlock asks for a block, with full transactions or only their hashes.
func AskBlock(number uint64, full bool) Ask {
	read := func(dec *jsontext.Decoder) (*ethrpc.Block, error) {
		b, err := ethrpc.DecodeBlock(dec)
		if err == nil && b.Number != number {
			return nil, protocolError("it is another block")
		}
		return b, err
	}
	return Ask{method: methodBlock, params: params(quantity(number), full), decode: decodes(read), exists: true}
}

// AskBalance asks for a balance at the end of a block.
func AskBalance(a common.Address, block uint64) Ask {
	return Ask{method: methodBalance, params: params(hexAddress(a), quantity(block)), decode: decodes(readBig)}
}

// AskNonce asks for a nonce at the end of a block.
func AskNonce(a common.Address, block uint64) Ask {
	return Ask{method: methodNonce, params: params(hexAddress(a), quantity(block)), decode: decodes(readUint64)}
}

// AskCode asks for code at the end of a block.
func AskCode(a common.Address, block uint64) Ask {
	return Ask{method: methodCode, params: params(hexAddress(a), quantity(block)), decode: decodes(readBytes)}
}

// AskStorage asks for a storage slot at the end of a block.
func AskStorage(a common.Address, slot common.Hash, block uint64) Ask {
	return Ask{method: methodStorage, params: params(hexAddress(a), slot.Hex(), quantity(block)), decode: decodes(readWord)}
}

// AskCall asks for the return data of a call on the state at the end of a block.
func AskCall(to common.Address, data []byte, block uint64) Ask {
	object := jsontext.Value(`{"to":"` + hexAddress(to) + `","data":"0x` + hex.EncodeToString(data) + `"}`)
	return Ask{method: methodCall, params: params(object, blockParam(block)), decode: decodes(readBytes)}
}

// AskCallFrom is AskCall with the caller that the contract sees.
func AskCallFrom(from, to common.Address, data []byte, block uint64) Ask {
	object := jsontext.Value(`{"from":"` + hexAddress(from) + `","to":"` + hexAddress(to) + `","data":"0x` + hex.EncodeToString(data) + `"}`)
	return Ask{method: methodCall, params: params(object, blockParam(block)), decode: decodes(readBytes)}
}

// call returns the logical call of an Ask.
func (a Ask) call(ch *chain.Chain) call {
	decode := a.decode(ch)
	return call{
		tool: a.method, key: rpcKey(ch, a.method, a.params), chain: ch.Slug, decode: decode,
		live: func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
			out, err := c.rpc(ctx, ch, c.plain(a, decode), keep)
			return out, 1, err
		},
	}
}

func (c *Client) plain(a Ask, decode decodeFunc) rpcCall {
	return rpcCall{method: a.method, params: a.params, decode: decode, limit: c.cfg.MaxAnswer, timeout: c.cfg.Timeout,
		exists: a.exists, incomplete: a.incomplete}
}

// get makes a call and converts its value to T.
func get[T any](ctx context.Context, s *Session, c call) (T, error) {
	v, err := s.ask(ctx, c)
	if err != nil {
		var zero T
		return zero, err
	}
	return v.(T), nil
}

// Transaction returns a transaction, also a pending one, and ErrNotFound if no endpoint
// knows it.
func (s *Session) Transaction(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Transaction, error) {
	return get[*ethrpc.Transaction](ctx, s, AskTransaction(hash).call(ch))
}

// Receipt gives a receipt, and ErrNotFound when no endpoint has it.
func (s *Session) Receipt(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Receipt, error) {
	return get[*ethrpc.Receipt](ctx, s, AskReceipt(hash).call(ch))
}

// Block gives a block, with full transactions or only their hashes.
func (s *Session) Block(ctx context.Context, ch *chain.Chain, number uint64, full bool) (*ethrpc.Block, error) {
	return get[*ethrpc.Block](ctx, s, AskBlock(number, full).call(ch))
}

// Balance gives a balance in wei at the end of a block.
func (s *Session) Balance(ctx context.Context, ch *chain.Chain, a common.Address, block uint64) (*big.Int, error) {
	return get[*big.Int](ctx, s, AskBalance(a, block).call(ch))
}

// Nonce gives a nonce at the end of a block.
func (s *Session) Nonce(ctx context.Context, ch *chain.Chain, a common.Address, block uint64) (uint64, error) {
	return get[uint64](ctx, s, AskNonce(a, block).call(ch))
}

// Code gives the code of an account at the end of a block, empty when it has none.
func (s *Session) Code(ctx context.Context, ch *chain.Chain, a common.Address, block uint64) ([]byte, error) {
	return get[[]byte](ctx, s, AskCode(a, block).call(ch))
}

// Storage gives a storage slot at the end of a block.
func (s *Session) Storage(ctx context.Context, ch *chain.Chain, a common.Address, slot common.Hash, block uint64) (common.Hash, error) {
	return get[common.Hash](ctx, s, AskStorage(a, slot, block).call(ch))
}

// Call runs eth_call on the state at the end of a block. A call that reverts is
// ErrReverted, with the returned bytes in Error.Data.
func (s *Session) Call(ctx context.Context, ch *chain.Chain, to common.Address, data []byte, block uint64) ([]byte, error) {
	return get[[]byte](ctx, s, AskCall(to, data, block).call(ch))
}

// CallFrom is Call with the caller that the contract sees.
func (s *Session) CallFrom(ctx context.Context, ch *chain.Chain, from, to common.Address, data []byte, block uint64) ([]byte, error) {
	return get[[]byte](ctx, s, AskCallFrom(from, to, data, block).call(ch))
}

// DebugTrace returns the call tree of debug_traceTransaction with callTracer. The answer is
// parsed while it arrives. All callers of one session share the tree, so their limits must
// be equal.
func (s *Session) DebugTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error) {
	config := jsontext.Value(`{"tracer":"callTracer","tracerConfig":{"onlyTopCall":false,"withLog":true},"timeout":"30s"}`)
	return get[*trace.Tree](ctx, s, traceCall(ch, methodDebugTrace, params(hash.Hex(), config), func(dec *jsontext.Decoder) (any, error) {
		return trace.ParseCallTracer(dec, lim)
	}))
}

// ParityTrace gives the call tree of trace_transaction; see DebugTrace.
func (s *Session) ParityTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error) {
	return get[*trace.Tree](ctx, s, traceCall(ch, methodParityTrace, params(hash.Hex()), func(dec *jsontext.Decoder) (any, error) {
		return trace.ParseParity(dec, lim)
	}))
}

// ReplayTrace is ParityTrace by trace_replayTransaction, which the node makes anew.
func (s *Session) ReplayTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error) {
	what := params(hash.Hex(), jsontext.Value(`["trace"]`))
	return get[*trace.Tree](ctx, s, traceCall(ch, methodReplayTrace, what, func(dec *jsontext.Decoder) (any, error) {
		return trace.ParseReplayed(dec, lim)
	}))
}

// OtterscanTrace gives the call tree of ots_traceTransaction, which has no gas and does not
// say which calls failed.
func (s *Session) OtterscanTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error) {
	return get[*trace.Tree](ctx, s, traceCall(ch, methodOtterscan, params(hash.Hex()), func(dec *jsontext.Decoder) (any, error) {
		return trace.ParseOtterscan(dec, lim)
	}))
}

// StateDiff returns the state changes of the transaction, from prestateTracer in diff mode.
func (s *Session) StateDiff(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.StateDiff, error) {
	config := jsontext.Value(`{"tracer":"prestateTracer","tracerConfig":{"diffMode":true},"timeout":"30s"}`)
	return get[*ethrpc.StateDiff](
		ctx,
		s,
		traceCall(ch, methodDebugTrace, params(hash.Hex(), config), func(dec *jsontext.Decoder) (any, error) {
			return ethrpc.DecodeStateDiff(dec)
		}),
	)
}

// traceCall is a call with the limits of traces, which is never batched.
func traceCall(ch *chain.Chain, method string, params []byte, decode decodeFunc) call {
	return call{
		tool: method, key: rpcKey(ch, method, params), chain: ch.Slug, decode: decode,
		live: func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
			r := rpcCall{method: method, params: params, decode: decode, limit: c.cfg.MaxTrace, timeout: c.cfg.TraceTimeout, exists: true}
			out, err := c.rpc(ctx, ch, r, keep)
			return out, 1, err
		},
	}
}

// maxKey is the length above which the parameters in a key are replaced by their hash.
const maxKey = 256

func rpcKey(ch *chain.Chain, method string, params []byte) string {
	return joinKey("rpc", ch.ID, method+" "+shorten(string(params)))
}

func joinKey(source string, chainID uint64, rest string) string {
	return source + "|" + strconv.FormatUint(chainID, 10) + "|" + rest
}

func shorten(text string) string {
	if len(text) <= maxKey {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// params writes the JSON array of parameters: strings, bools and raw values.
func params(list ...any) []byte {
	b := []byte{'['}
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := p.(type) {
		case string: // hex digits only, nothing to escape
			b = append(append(append(b, '"'), v...), '"')
		case bool:
			b = strconv.AppendBool(b, v)
		case jsontext.Value:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("upstream: parameter of type %T", p))
		}
	}
	return append(b, ']')
}

// Latest is the newest block that a node has, as the block of AskCall and Call.
const Latest = math.MaxUint64

// blockParam is the block parameter of a call (EIP-1474).
func blockParam(block uint64) string {
	if block == Latest {
		return "latest"
	}
	return quantity(block)
}

func quantity(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// hexAddress formats an address in lower case, so that equal calls have equal keys.
func hexAddress(a common.Address) string { return "0x" + hex.EncodeToString(a[:]) }

// one decodes a single value with the readers of package ethrpc.
func one[T any](dec *jsontext.Decoder, what string, read func(*rpcjson.Reader) T) (T, error) {
	r := rpcjson.New(dec)
	v := read(r)
	if err := r.Err(); err != nil {
		return v, fmt.Errorf("read %s: %w", what, err)
	}
	return v, nil
}

func readBig(dec *jsontext.Decoder) (*big.Int, error) {
	return one(dec, "quantity", (*rpcjson.Reader).Big)
}

func readUint64(dec *jsontext.Decoder) (uint64, error) {
	return one(dec, "quantity", (*rpcjson.Reader).Uint64)
}

func readBytes(dec *jsontext.Decoder) ([]byte, error) {
	return one(dec, "bytes", (*rpcjson.Reader).Bytes)
}

// readWord reads a storage word; some nodes omit leading zeros.
func readWord(dec *jsontext.Decoder) (common.Hash, error) {
	return one(dec, "storage word", func(r *rpcjson.Reader) common.Hash {
		var word uint256.Int
		r.Uint256(&word)
		return word.Bytes32()
	})
}
