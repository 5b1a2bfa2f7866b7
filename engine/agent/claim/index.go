package claim

import (
	"math/big"
	"strings"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Index is what exists in the evidence of one transaction. It is owned by the loop
// and not safe for concurrent use.
type Index struct {
	c *assemble.Case
	r *api.Result

	frames    map[string]*trace.Frame // by path
	nodeAt    map[string]*api.Node
	logs      map[uint64]int // receipt position by index
	logNode   map[uint64]*api.Node
	addresses map[api.Addr]bool
	words     map[common.Hash]bool // topics, slots, hashes: 32 bytes
	selectors map[string]bool      // 0x and 8 digits
	raws      map[string]bool      // integers, in decimal
	tagged    map[string]bool      // those of them that are base units of some token
	loose     amounts              // the integers as numbers
	untold    amounts              // those of which nothing says what they count
	rates     map[string]bool      // percentages that arguments called fee and the like stand for
	derived   derived              // what the figures of an answer come to
	of        map[string]*amounts  // amounts in whole tokens, by symbol in lower case
	any       amounts              // those of all tokens
	usd       amounts
	counts    map[int]bool
	scales    map[string]map[int]bool // decimals of the tokens of a symbol
	vocab     map[string]bool         // words of names, in lower case
	times     map[string]bool         // dates and times of the block
	verified  bool                    // some source is verified
	sources   map[api.Addr]bool       // contracts whose ABI or source is known
	readSlots map[slotKey]bool        // slots that tools have read
	echo      map[string]bool         // what the question of the answer that is read says itself
	phrases   []string                // names of our own tables, the longest first
	hexEnds   ends                    // of addresses and hashes
	rawEnds   ends                    // of integers
}

// NewIndex indexes the evidence that the rules had.
func NewIndex(c *assemble.Case) *Index {
	ix := &Index{
		c: c, r: c.Result,
		frames: map[string]*trace.Frame{}, nodeAt: map[string]*api.Node{}, logs: map[uint64]int{}, logNode: map[uint64]*api.Node{},
		addresses: map[api.Addr]bool{}, words: map[common.Hash]bool{}, selectors: map[string]bool{}, raws: map[string]bool{}, tagged: map[string]bool{}, rates: map[string]bool{},
		of: map[string]*amounts{}, counts: map[int]bool{}, scales: map[string]map[int]bool{}, vocab: map[string]bool{}, times: map[string]bool{}, sources: map[api.Addr]bool{}, readSlots: map[slotKey]bool{},
	}
	ix.money() // first: it says of integers what they count
	ix.transaction()
	ix.nodes()
	ix.storage()
	for _, v := range c.Evidence.Views {
		ix.data(v.Output)
	}
	ix.names()
	ix.count()
	return ix
}

func (ix *Index) address(list ...api.Addr) {
	for _, a := range list {
		ix.addresses[a] = true
	}
}

// integer takes an integer of which nothing says what it counts.
func (ix *Index) integer(n *big.Int) {
	if n == nil || n.BitLen() > 256 {
		return
	}
	n = new(big.Int).Abs(n)
	text := n.String()
	if !ix.raws[text] {
		ix.raws[text] = true
		ix.loose.add(api.Decimal{Unscaled: n})
		if !ix.tagged[text] {
			ix.untold.add(api.Decimal{Unscaled: n})
		}
	}
}

func (ix *Index) uint(list ...uint64) {
	for _, n := range list {
		ix.integer(new(big.Int).SetUint64(n))
	}
}

// word takes 32 bytes, which may be an address or a number, too.
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
		for _, n := range []*big.Int{tx.GasPrice, tx.MaxFee, tx.MaxTip, tx.Value, tx.Mint, tx.MaxBlobFee} {
			ix.integer(n)
		}
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
		ix.moment(b.Timestamp)
	}
}

// maxData bounds the words that are taken from one piece of data.
const maxData = 64

// data takes the words of ABI-encoded data.
func (ix *Index) data(b []byte) {
	for i := 0; i < maxData && len(b) >= 32; i++ {
		ix.word(common.Hash(b[:32]))
		b = b[32:]
	}
}

// nodes indexes the tree. Frames of the tree and nodes of the result are in the same
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
				ix.rate(a)
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

// failure takes what a failed frame said.
func (ix *Index) failure(f *trace.Frame) {
	if ix.c.Decoded == nil || f.Index >= len(ix.c.Decoded.Failures) {
		return
	}
	for d := ix.c.Decoded.Failures[f.Index]; d != nil; d = d.Nested {
		for _, a := range d.Args {
			ix.arg(a.Value, 4)
		}
		ix.name(d.Name)
		ix.name(d.Text)
	}
	if len(f.Output) >= 4 {
		ix.selectors[api.Hex(f.Output[:4]).String()] = true
	}
}

// arg takes the numbers and addresses of a decoded value. Text counts for nothing
// here: its author could write any number.
func (ix *Index) arg(v any, depth int) {
	switch v := v.(type) {
	case string:
		ix.scalar(v)
	case []any:
		ix.counts[len(v)] = true
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

// rate takes an argument that names a fee: in millionths, as pools have it, or in
// basis points.
func (ix *Index) rate(a api.Arg) {
	name, s := strings.ToLower(a.Name), ""
	if s, _ = a.Value.(string); s == "" || len(s) > 8 {
		return
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || n.Sign() <= 0 {
		return
	}
	for _, w := range []string{"fee", "bps", "slippage", "bips"} {
		if strings.Contains(name, w) {
			ix.rates[api.Decimal{Unscaled: n, Scale: 4}.String()] = true
			ix.rates[api.Decimal{Unscaled: n, Scale: 2}.String()] = true
		}
	}
}

// scalar takes a string that is an integer or hex as a whole.
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

// in is the set of amounts of a symbol.
func (ix *Index) in(symbol string, scale int) *amounts {
	key := strings.ToLower(symbol)
	if ix.of[key] == nil {
		ix.of[key], ix.scales[key] = &amounts{}, map[int]bool{}
	}
	ix.scales[key][scale] = true
	return ix.of[key]
}

// amount takes base units of a token, as a number of whole tokens, and what they were
// worth.
func (ix *Index) amount(token common.Address, n *big.Int) {
	if n == nil || n.Sign() == 0 {
		return
	}
	ix.tagged[new(big.Int).Abs(n).String()] = true
	ix.integer(n)
	symbol, scale, known := ix.coin(token)
	d := api.Decimal{Unscaled: n, Scale: scale}
	if known {
		ix.any.add(d)
	}
	if symbol != "" && known {
		ix.in(symbol, scale).add(d)
	}
	if p, ok := ix.c.Evidence.Prices[token]; ok && known {
		ix.usd.add(flow.Value(n, uint8(scale), p.USD))
	}
}

// coin is the symbol and the decimals of a token. A token that imitates another has
// no symbol: its amounts are not those of what it pretends to be.
func (ix *Index) coin(token common.Address) (symbol string, decimals int, known bool) {
	ev := ix.c.Evidence
	if token == (common.Address{}) {
		symbol = ev.Chain.Native.Symbol
		if ev.Block != nil {
			symbol = ev.Chain.NativeAt(ev.Block.Timestamp).Symbol
		}
		return symbol, ev.Chain.Native.Decimals, true
	}
	t, ok := ev.Tokens[token]
	if !ok || t.Decimals == nil {
		return "", 0, false
	}
	if t.Lookalike != "" {
		return "", int(*t.Decimals), true
	}
	return api.Clean(t.Symbol, 40), int(*t.Decimals), true
}
