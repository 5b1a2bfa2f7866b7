package check

import (
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// inspection is the working state of one triage.
type inspection struct {
	*Facts
	own     map[common.Address]bool // the sender, for whom it acted, and what is theirs
	byPath  map[string]*trace.Frame
	frameOf map[int]*trace.Frame // of a log, by its receipt position
	pays    []payment            // in the order of the transaction, fees left out
	asks    []Question
	raised  []verdict.Risk // risk flags of our own
	netted  *facts.Nets
	att     *attack           // nil: not laid out
	found   []verdict.Finding // by the checks so far
}

// payment is one movement of one asset, with the frame that made it.
type payment struct {
	key      flow.TokenKey // the zero key is the native coin
	from, to common.Address
	amount   *big.Int
	frame    *trace.Frame
	log      int // receipt position; -1 for the native coin
}

func newInspection(f *Facts) *inspection {
	l := &inspection{Facts: f, byPath: map[string]*trace.Frame{}}
	if f.Tree == nil || f.Flow == nil || len(f.Tree.Frames) > maxFrames {
		return l
	}
	l.frameOf = f.Tree.LogFrames()
	l.payments()
	l.owned()
	return l
}

// path names a frame and remembers it for the order of the findings.
func (l *inspection) path(f *trace.Frame) string {
	p := f.Path()
	l.byPath[p] = f
	return p
}

// at is the path of a frame as an argument.
func (l *inspection) at(f *trace.Frame) verdict.Path { return verdict.Path(l.path(f)) }

func amount(k flow.TokenKey, n *big.Int) verdict.Amount { return verdict.Amount{Key: k, N: n} }

// logOf is the receipt position of a transfer; -1 where a call stands for the log.
func (l *inspection) logOf(t *flow.Transfer) int {
	if l.NoLogs {
		return -1
	}
	return t.Log
}

// payments lists what moved.
func (l *inspection) payments() {
	for i := range l.Flow.Moves {
		m := &l.Flow.Moves[i]
		if m.Kind == flow.MoveFee || m.Kind == flow.MoveMint || m.NoTo || m.Frame < 0 || m.Frame >= len(l.Tree.Frames) {
			continue
		}
		l.pays = append(l.pays, payment{from: m.From, to: m.To, amount: m.Amount, frame: l.Tree.Frames[m.Frame], log: -1})
	}
	for i := range l.Flow.Transfers {
		t := &l.Flow.Transfers[i]
		k := flow.TokenKey{Token: t.Token, NFT: t.Standard == flow.ERC721}
		if t.ID != nil {
			k.ID = t.ID.String()
		}
		l.pays = append(l.pays, payment{key: k, from: t.From, to: t.To, amount: t.Amount, frame: l.frameOf[t.Log], log: l.logOf(t)})
	}
}

// owned gathers the sender's side: sender, actor, what these make in the transaction,
// and the contract that was called, unless somebody vouches for it or it loses by it.
func (l *inspection) owned() {
	l.own = map[common.Address]bool{l.Tx.From: true}
	if l.Verdict != nil && l.Verdict.Actor != (common.Address{}) {
		l.own[l.Verdict.Actor] = true
	}
	if to := l.Tx.To; to != nil && !l.vouched(*to) && !l.loses(*to) {
		l.own[*to] = true
	}
	for _, f := range l.Tree.Frames {
		if f.Kind.Creates() && f.HasTo && (f.Parent == nil || l.own[f.From]) {
			l.own[f.To] = true
		}
	}
}

// vouched reports whether a table or a verified source says who stands at an address.
func (l *inspection) vouched(a common.Address) bool {
	if x, ok := l.Labels[a]; ok && x.Category != "contract" && !x.Accuses() {
		return true
	}
	if c := l.Contracts[a]; c != nil && c.ABI != nil && c.Source != "" {
		return true
	}
	t, ok := l.Tokens[a]
	return ok && t.Symbol != ""
}

// loses reports whether a contract ends with less of something, with more of nothing, and
// got nothing from others: it pays out of its stock. What a trader's contract lacks in the
// end went through it, or was laid in before.
func (l *inspection) loses(a common.Address) bool {
	lost := false
	for _, p := range l.nets(a) {
		switch {
		case p.Amount.Sign() > 0:
			return false
		case p.Amount.Sign() < 0 && p.Key.ID == "":
			lost = true
		}
	}
	return lost && !slices.ContainsFunc(l.pays, func(p payment) bool { return p.to == a && !l.own[p.from] && p.amount.Sign() > 0 })
}

// nets is what an account gained and lost, fees aside. All accounts are netted at once,
// when the first is asked for: a batch may pay thousands.
func (l *inspection) nets(a common.Address) []facts.Position { return l.ledger().Of(a) }

func (l *inspection) ledger() *facts.Nets {
	if l.netted == nil {
		l.netted = new(facts.Nets)
		for i := range l.pays {
			p := &l.pays[i]
			l.netted.Move(p.key, p.from, p.to, p.amount)
		}
	}
	return l.netted
}

// net is the change of one asset of an account.
func (l *inspection) net(a common.Address, k flow.TokenKey) *big.Int {
	if n := l.ledger().Net(a, k); n != nil {
		return n
	}
	return new(big.Int)
}

// gain is the change of one asset of all of the sender's side.
func (l *inspection) gain(k flow.TokenKey) *big.Int {
	sum := new(big.Int)
	for a := range l.own {
		sum.Add(sum, l.net(a, k))
	}
	return sum
}

// total adds up payments of an asset from one to another that a test lets through.
func (l *inspection) total(k flow.TokenKey, pass func(*payment) bool) *big.Int {
	sum := new(big.Int)
	for i := range l.pays {
		if p := &l.pays[i]; p.key == k && pass(p) {
			sum.Add(sum, p.amount)
		}
	}
	return sum
}

// losses are the fungible assets that an account lost and the sender's side got some of.
func (l *inspection) losses(a common.Address) (keys []flow.TokenKey) {
	for i := range l.pays {
		p := &l.pays[i]
		if p.from == a && p.key.ID == "" && !p.key.NFT && !slices.Contains(keys, p.key) && l.net(a, p.key).Sign() < 0 &&
			l.gain(p.key).Sign() > 0 {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// attackers are the accounts of the sender's side that took part.
func (l *inspection) attackers() (out []api.Addr) {
	add := func(a common.Address) {
		if x := api.AddrOf(a); a != (common.Address{}) && !slices.Contains(out, x) && len(out) < 8 {
			out = append(out, x)
		}
	}
	add(l.Tx.From)
	for _, f := range l.Tree.Frames {
		if l.own[f.To] && f.HasTo && f.Status == trace.OK {
			add(f.To)
		}
	}
	return out
}

// slotOf is the value of a slot that changed.
func (l *inspection) slotOf(a common.Address, slot common.Hash) (pre, post common.Hash, ok bool) {
	if l.Diff == nil {
		return
	}
	if x := l.Diff.Pre[a]; x != nil {
		pre, ok = x.Storage[slot]
	}
	if x := l.Diff.Post[a]; x != nil {
		if v, has := x.Storage[slot]; has {
			post, ok = v, true
		}
	}
	return pre, post, ok
}

// changed lists the slots of an account that changed, in order.
func (l *inspection) changed(a common.Address) (slots []common.Hash) {
	if l.Diff == nil {
		return nil
	}
	seen := map[common.Hash]bool{}
	for _, x := range []*ethrpc.Account{l.Diff.Pre[a], l.Diff.Post[a]} {
		if x == nil {
			continue
		}
		for s := range x.Storage {
			if pre, post, _ := l.slotOf(a, s); !seen[s] && pre != post {
				seen[s] = true
				slots = append(slots, s)
			}
		}
	}
	slices.SortFunc(slots, func(a, b common.Hash) int { return a.Cmp(b) })
	return slots
}

// maxMapped is how many of the first slots of a contract are tried as a mapping.
const maxMapped = 64

// mapped lists the slots at which mappings of a contract may keep something for a
// holder: as Solidity computes them (key, then slot), and as Vyper does.
func mapped(holder common.Address) []common.Hash {
	out := make([]common.Hash, 0, 2*maxMapped)
	var key, at common.Hash
	copy(key[12:], holder[:])
	for i := range maxMapped {
		at[31] = byte(i)
		out = append(out, crypto.Keccak256Hash(key[:], at[:]), crypto.Keccak256Hash(at[:], key[:]))
	}
	return out
}

// credit is the slot that a contract keeps for a holder and that changed.
func (l *inspection) credit(contract, holder common.Address) (slot common.Hash, pre, post *big.Int, ok bool) {
	if l.Diff == nil || l.Diff.Pre[contract] == nil && l.Diff.Post[contract] == nil {
		return
	}
	for _, s := range mapped(holder) {
		if a, b, has := l.slotOf(contract, s); has && a != b {
			return s, a.Big(), b.Big(), true
		}
	}
	return
}

// holdings is what an account had of an asset before, where the state diff tells.
func (l *inspection) holdings(a common.Address, k flow.TokenKey) *big.Int {
	if k == (flow.TokenKey{}) {
		if l.Diff != nil && l.Diff.Pre[a] != nil {
			return l.Diff.Pre[a].Balance
		}
		return nil
	}
	delta := l.net(a, k)
	if l.Diff == nil || l.Diff.Pre[k.Token] == nil && l.Diff.Post[k.Token] == nil {
		return nil
	}
	for _, s := range mapped(a) {
		pre, post, ok := l.slotOf(k.Token, s)
		if ok && new(big.Int).Sub(post.Big(), pre.Big()).Cmp(delta) == 0 {
			return pre.Big()
		}
	}
	return nil
}

// reached reports whether a frame runs below a call of the sender's side to a contract.
func (l *inspection) reached(f *trace.Frame, contract common.Address) *trace.Frame {
	var found *trace.Frame
	for ; f != nil; f = f.Parent {
		if f.Kind == trace.Call && f.To == contract && f.Status == trace.OK && l.own[f.From] {
			found = f
			break
		}
	}
	return found
}

// below reports whether f is g or runs inside of it.
func below(f, g *trace.Frame) bool {
	for ; f != nil; f = f.Parent {
		if f == g {
			return true
		}
	}
	return false
}
