package claim

import (
	"math/big"
	"strings"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/flow"
	"txlens/engine/narrate"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Index is the set of things that exist in the evidence of one transaction. It is owned by
// the model loop and not safe for concurrent use.
type Index struct {
	c *assemble.Analysis
	r *api.Result

	frames    map[string]*trace.Frame // by path
	nodeAt    map[string]*api.Node
	logs      map[uint64]int // receipt position by index
	logNode   map[uint64]*api.Node
	addresses map[api.Addr]bool
	words     map[common.Hash]bool    // topics, slots, hashes: 32 bytes
	selectors map[string]bool         // 0x and 8 digits
	raws      map[string]bool         // integers, in decimal
	transfers map[api.Addr]int        // of the result, by token
	byID      map[common.Address]bool // tokens whose units have ids, so that a sum of them says little
	sources   map[api.Addr]bool       // contracts whose ABI or source is known
	readSlots map[slotKey]bool        // slots that tools have read
	echo      map[string]bool         // values of the question whose answer is being added
	answers   map[int]toolAnswer      // answers of tools, by number

	ends   map[[4]byte][]api.Addr // addresses by their abbreviated form, see endsOf
	endsAt int                    // number of addresses when ends was built

	figures    []figure       // of the answer that is being applied
	drops      []Drop         // sentences of that answer that were dropped
	unabridged *narrate.Words // names with full addresses; nil: not built yet
}

// NewIndex indexes the evidence that the rules used.
func NewIndex(c *assemble.Analysis) *Index {
	ix := &Index{
		c: c, r: c.Result,
		frames: map[string]*trace.Frame{}, nodeAt: map[string]*api.Node{}, logs: map[uint64]int{}, logNode: map[uint64]*api.Node{},
		addresses: map[api.Addr]bool{}, words: map[common.Hash]bool{}, selectors: map[string]bool{}, raws: map[string]bool{},
		transfers: map[api.Addr]int{}, byID: map[common.Address]bool{},
		sources: map[api.Addr]bool{}, readSlots: map[slotKey]bool{}, answers: map[int]toolAnswer{},
	}
	ix.money()
	ix.transaction()
	ix.nodes()
	ix.storage()
	for _, v := range c.Evidence.Views {
		ix.data(v.Output)
	}
	ix.known()
	return ix
}

func (ix *Index) address(list ...api.Addr) {
	for _, a := range list {
		ix.addresses[a] = true
	}
}

// integer adds integers.
func (ix *Index) integer(list ...*big.Int) {
	for _, n := range list {
		if n != nil && n.BitLen() <= 256 {
			ix.raws[new(big.Int).Abs(n).String()] = true
		}
	}
}

func (ix *Index) uint(list ...uint64) {
	for _, n := range list {
		ix.integer(new(big.Int).SetUint64(n))
	}
}

// word adds 32 bytes, which may also be an address or a number.
func (ix *Index) word(h common.Hash) {
	if h == (common.Hash{}) || ix.words[h] {
		return
	}
	ix.words[h] = true
	n := h.Big()
	ix.integer(n)
	if n.BitLen() > 64 && n.BitLen() <= 160 {
		ix.address(api.AddrOf(common.BytesToAddress(h[12:])))
	}
}

func (ix *Index) transaction() {
	ev, m := ix.c.Evidence, ix.r.TxMeta
	ix.words[common.HexToHash(ix.r.TxHash)] = true
	ix.uint(m.BlockNumber, m.TransactionIndex, m.GasUsed, m.BlockTimestamp, ev.Chain.ID)
	if tx := ev.Tx; tx != nil {
		ix.uint(tx.Nonce, tx.Gas, tx.Type, uint64(len(tx.Input)))
		ix.integer(tx.GasPrice, tx.MaxFee, tx.MaxTip, tx.Value, tx.Mint, tx.MaxBlobFee)
		for _, a := range tx.Authorizations {
			ix.address(api.AddrOf(a.Address))
		}
		for _, a := range tx.AccessList {
			ix.address(api.AddrOf(a.Address))
		}
		if tx.BlockHash != nil {
			ix.words[*tx.BlockHash] = true
		}
	}
	if rc := ix.c.Receipt; rc != nil {
		ix.uint(rc.GasUsed, rc.CumulativeGasUsed, rc.BlobGasUsed)
		ix.integer(rc.EffectiveGasPrice)
		for i := range rc.Logs {
			l := &rc.Logs[i]
			ix.logs[l.Index] = i
			ix.address(api.AddrOf(l.Address))
			for _, t := range l.Topics {
				ix.word(t)
			}
			ix.data(l.Data)
		}
	}
	if b := ev.Block; b != nil {
		ix.uint(b.Number, b.Timestamp, b.GasLimit, b.GasUsed)
		ix.integer(b.BaseFee)
		ix.address(api.AddrOf(b.Miner))
	}
}

// maxData bounds the words added from one piece of data.
const maxData = 64

// data adds the words of ABI-encoded data.
func (ix *Index) data(b []byte) {
	for i := 0; i < maxData && len(b) >= 32; i++ {
		ix.word(common.Hash(b[:32]))
		b = b[32:]
	}
}

// nodes indexes the call tree. Frames of the tree and nodes of the result have the same
// order.
func (ix *Index) nodes() {
	next := 0
	for i := range ix.r.PrettyTrace {
		n := &ix.r.PrettyTrace[i]
		ix.address(n.From)
		if n.To != nil {
			ix.address(*n.To)
		}
		for _, a := range n.DecodedArgs {
			if a.Type != "string" {
				ix.arg(a.Value, 4)
			}
		}
		if n.Type == "LOG" {
			if n.LogIndex != nil {
				ix.logNode[*n.LogIndex] = n
				ix.uint(*n.LogIndex)
			}
			continue
		}
		if n.Selector != "" {
			ix.selectors[n.Selector] = true
			if len(n.Input) > 4 {
				ix.data(n.Input[4:])
			}
		}
		if n.Status != api.NodeFailed {
			ix.data(n.Output)
		}
		ix.uint(n.GasUsed, uint64(len(n.Input)), uint64(len(n.Output)))
		if ix.c.Tree != nil && next < len(ix.c.Tree.Frames) {
			f := ix.c.Tree.Frames[next]
			next++
			if n.Path != "" {
				ix.frames[n.Path], ix.nodeAt[n.Path] = f, n
			}
			ix.failure(f)
		}
	}
}

// failure adds the values of a failed frame's error.
func (ix *Index) failure(f *trace.Frame) {
	if ix.c.Decoded == nil || f.Index >= len(ix.c.Decoded.Failures) {
		return
	}
	for d := ix.c.Decoded.Failures[f.Index]; d != nil; d = d.Nested {
		for _, a := range d.Args {
			ix.arg(a.Value, 4)
		}
	}
	if len(f.Output) >= 4 {
		ix.selectors[api.Hex(f.Output[:4]).String()] = true
	}
}

// arg adds the numbers and addresses of a decoded value. Strings are ignored, because their
// author could write any number.
func (ix *Index) arg(v any, depth int) {
	switch v := v.(type) {
	case string:
		ix.scalar(v)
	case []any:
		for i := 0; i < len(v) && i < 256 && depth > 0; i++ {
			ix.arg(v[i], depth-1)
		}
	case []api.Arg:
		for i := 0; i < len(v) && depth > 0; i++ {
			if v[i].Type != "string" {
				ix.arg(v[i].Value, depth-1)
			}
		}
	}
}

// scalar adds a string that is an integer or hex as a whole.
func (ix *Index) scalar(s string) {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		switch {
		case strings.Trim(strings.ToLower(digits), "0123456789abcdef") != "":
		case len(digits) == 40:
			ix.address(api.AddrOf(common.HexToAddress(s)))
		case len(digits) == 64:
			ix.word(common.HexToHash(s))
		case len(digits) == 8:
			ix.selectors[strings.ToLower(s)] = true
		case len(digits) > 64:
			ix.data(common.FromHex(s))
		}
		return
	}
	if n, ok := new(big.Int).SetString(s, 10); ok && len(s) <= 80 {
		ix.integer(n)
	}
}

// money adds every movement and its parties.
func (ix *Index) money() {
	f := ix.c.Flow
	if f == nil {
		return
	}
	for i := range f.Transfers {
		t := &f.Transfers[i]
		ix.integer(t.ID, t.Last, t.Amount)
		if t.ID != nil {
			ix.byID[t.Token] = true
		}
		ix.address(api.AddrOf(t.Token), api.AddrOf(t.From), api.AddrOf(t.To))
	}
	for _, m := range f.Moves {
		if m.Kind != flow.MoveFee {
			ix.integer(m.Amount)
			ix.address(api.AddrOf(m.From), api.AddrOf(m.To))
		}
	}
	for _, c := range f.Changes {
		ix.address(api.AddrOf(c.Address))
		for _, d := range c.Deltas {
			ix.integer(d.Amount)
		}
	}
	if fee := f.Fee; fee != nil {
		ix.integer(fee.Total, fee.Execution, fee.L1, fee.Operator, fee.Blob, fee.Burnt, fee.Unassigned)
		for _, s := range fee.Shares {
			ix.integer(s.Amount)
			ix.address(api.AddrOf(s.Address))
		}
	}
}

// storage adds the changed slots, their values, and the balances.
func (ix *Index) storage() {
	d := ix.c.Evidence.Diff
	if d == nil {
		return
	}
	for _, accounts := range []map[common.Address]*ethrpc.Account{d.Pre, d.Post} {
		for a, acc := range accounts {
			ix.address(api.AddrOf(a))
			ix.integer(acc.Balance)
			for slot, value := range acc.Storage {
				ix.words[slot] = true
				ix.word(value)
			}
		}
	}
}

// known adds the addresses of the result, the transfers by token, and the contracts whose
// code can be read.
func (ix *Index) known() {
	for _, a := range ix.r.Addresses {
		ix.address(a.Address)
	}
	for _, t := range ix.r.TokenTransfers {
		ix.transfers[t.TokenAddress]++
	}
	for _, t := range ix.c.Evidence.Tokens {
		if t.Decimals != nil {
			ix.uint(uint64(*t.Decimals))
		}
	}
	for _, k := range ix.c.Evidence.Contracts {
		if k.ABI != nil {
			ix.sources[api.AddrOf(k.Address)] = true
		}
		if k.Implementation != nil {
			ix.address(api.AddrOf(*k.Implementation))
		}
	}
	if f := ix.r.Fee; f != nil {
		for _, s := range f.Recipients {
			ix.address(s.Address)
		}
	}
}
