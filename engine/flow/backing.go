package flow

import (
	"math/big"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// LogStateMatch says whether the state confirms the transfer events of a token.
type LogStateMatch string

const (
	// LogsMatch: the balance slot of every holder changed by what the logs say.
	LogsMatch LogStateMatch = "backed"
	// FeeOnTransfer: some holders got less, or gave more, than the logs say, and none the
	// reverse: the token takes a fee on transfer that no log reports.
	FeeOnTransfer LogStateMatch = "fee_on_transfer"
	// Rebasing: the slots of all holders changed by the same multiple of what the logs say.
	// The token stores shares, as rebasing tokens do.
	Rebasing LogStateMatch = "rebasing"
	// LogsDiffer: logs and slots disagree in another way.
	LogsDiffer LogStateMatch = "differs"
	// FakeEvent: see Flow.Fakes.
	FakeEvent LogStateMatch = "fake"
)

// TokenCheck compares the transfer events of a token with the state diff, or with what the
// token itself answered within the transaction. Holder is the first with a difference,
// ByLogs and ByState are its movements.
type TokenCheck struct {
	Token           common.Address
	Match           LogStateMatch
	ByCalls         bool // compared with two answers of balanceOf, not with the slots
	Holders         int  // compared
	Holder          common.Address
	ByLogs, ByState *big.Int
}

// Bounds of the comparison.
const (
	maxTries    = 3  // holders asked to find a token's mapping
	maxCompared = 64 // holders compared of one token
	maxChecked  = 32 // tokens checked
)

// fewerTokens is the amount below which the rounding of shares hides their ratio.
var fewerTokens = big.NewInt(1000)

// written is the slots of a contract that the transaction changed.
type written struct{ pre, post map[common.Hash]common.Hash }

func writtenBy(d *ethrpc.StateDiff, a common.Address) (w written) {
	if pre := d.Pre[a]; pre != nil {
		w.pre = pre.Storage
	}
	if post := d.Post[a]; post != nil {
		w.post = post.Storage
	}
	return w
}

func (w *written) any() bool { return len(w.pre)+len(w.post) > 0 }

// change returns by how much a slot rose; false if it did not change.
func (w *written) change(slot common.Hash) (delta *uint256.Int, changed bool) {
	before, was := w.pre[slot]
	after, is := w.post[slot]
	var b, a uint256.Int
	b.SetBytes32(before[:])
	a.SetBytes32(after[:])
	return a.Sub(&a, &b), was || is
}

// fakes returns the emitters whose transfer events are proven to have moved nothing: the
// state diff and a complete trace are available, the emitter changed no storage although
// its logs change balances, and no other contract could store them for it, because every
// contract that changed storage has logs of its own.
func (c *computation) fakes() map[common.Address]bool {
	if c.Diff == nil || c.Diff.Post[c.Tx.From] == nil || !c.Succeeded || c.Tree == nil || c.Tree.Source == trace.SourceReceipt ||
		c.Tree.Compressed() {
		return nil
	}
	var suspects []common.Address
	known := map[common.Address]bool{}
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if known[l.Address] {
			continue
		}
		known[l.Address] = true
		if w := writtenBy(c.Diff, l.Address); !w.any() {
			suspects = append(suspects, l.Address)
		}
	}
	if len(suspects) == 0 || c.externalStorage(known) {
		return nil
	}
	out := map[common.Address]bool{}
	for _, a := range suspects {
		if c.couldMove(a) || !c.claims(a) {
			continue
		}
		out[a] = true
	}
	return out
}

// externalStorage reports whether a contract without logs changed storage.
func (c *computation) externalStorage(logged map[common.Address]bool) bool {
	for _, side := range [2]map[common.Address]*ethrpc.Account{c.Diff.Pre, c.Diff.Post} {
		for a, acc := range side {
			if len(acc.Storage) > 0 && !logged[a] {
				return true
			}
		}
	}
	return false
}

// couldMove reports whether an emitter can move assets without storage: it holds, receives
// or pays native coin, is deleted, or is run by the chain itself.
func (c *computation) couldMove(a common.Address) bool {
	if c.nativeToken(a) || c.Chain.WrappedNative != nil && a == *c.Chain.WrappedNative || a == evmsig.NativeLogger || a.Big().BitLen() <= 16 {
		return true
	}
	pre, post := c.Diff.Pre[a], c.Diff.Post[a]
	if pre != nil && post == nil || post != nil && post.Balance != nil {
		return true
	}
	for _, f := range c.Tree.Frames {
		if (f.From == a || f.To == a) && f.MovesValue() || f.Kind == trace.SelfDestruct && f.From == a {
			return true
		}
	}
	return false
}

// claims reports whether the logs of an emitter change anybody's balance.
func (c *computation) claims(a common.Address) bool {
	scratch := &computation{Input: c.Input, bal: balancesPool.Get().(*balances)}
	for i := range c.Receipt.Logs {
		if l := &c.Receipt.Logs[i]; l.Address == a && len(l.Topics) > 0 {
			scratch.log(l, i)
		}
	}
	moved := false
	for i := range scratch.bal.entries {
		e := &scratch.bal.entries[i]
		moved = moved || e.in != e.out
	}
	scratch.bal.release()
	return moved
}

// check compares the fungible tokens with the state diff, in the order of their first
// transfer.
func (c *computation) check() {
	if c.Diff == nil || !c.Succeeded {
		return
	}
	at := map[common.Address]int{}
	var tokens []common.Address
	var entries [][]*entry
	for i := range c.bal.entries {
		e := &c.bal.entries[i]
		if e.key.form != fungible || e.in == e.out {
			continue
		}
		n, ok := at[e.key.token]
		if !ok {
			if len(tokens) == maxChecked {
				continue
			}
			n = len(tokens)
			at[e.key.token] = n
			tokens, entries = append(tokens, e.key.token), append(entries, nil)
		}
		entries[n] = append(entries[n], e)
	}
	for i, token := range tokens {
		if k, ok := c.compare(token, entries[i]); ok {
			c.out.Checks = append(c.out.Checks, k)
		}
	}
}

// compare finds the balance slots of a token and compares each holder's net movement with
// its slot. It returns false if the slots are not found.
func (c *computation) compare(token common.Address, entries []*entry) (k TokenCheck, ok bool) {
	w := writtenBy(c.Diff, token)
	if !w.any() {
		return k, false
	}
	if len(entries) > maxCompared {
		entries = entries[:maxCompared]
	}
	k = TokenCheck{Token: token, Match: LogsMatch, Holders: len(entries)}
	l, proven := c.layoutOf(&w, entries)
	if l == nil {
		return k, false
	}
	differ := c.differing(&w, l, entries)
	if len(differ) > 0 {
		k.Holder, k.ByLogs, k.ByState = differ[0].holder, differ[0].byLogs, differ[0].byState
		k.Match = judge(differ, k.Holders)
		if k.Match == Rebasing && c.halved(token, &differ[0]) {
			k.Match = LogsDiffer
		}
	}
	return k, proven || k.Match == Rebasing
}

// differing returns the holders whose slots disagree with the logs.
func (c *computation) differing(w *written, l *statediff.Layout, entries []*entry) (list []holding) {
	for _, e := range entries {
		holder := c.bal.accounts[e.key.account].addr
		if delta, _ := w.change(l.Slot(statediff.Word(holder))); !sameChange(e, delta) {
			list = append(list, holding{holder, net(&e.in, &e.out), signed(delta)})
		}
	}
	return list
}

// holding is one holder whose slot disagrees with the logs.
type holding struct {
	holder          common.Address
	byLogs, byState *big.Int
}

// judge classifies the disagreement.
func judge(differ []holding, holders int) LogStateMatch {
	scaled, keeps := len(differ) == holders && holders > 1, len(differ) < holders
	first := &differ[0]
	for i := range differ {
		h := &differ[i]
		// Shares are rounded by a unit on each side.
		cross := new(big.Int).Sub(new(big.Int).Mul(h.byState, first.byLogs), new(big.Int).Mul(first.byState, h.byLogs))
		slack := new(big.Int).Lsh(new(big.Int).Add(new(big.Int).Abs(h.byLogs), new(big.Int).Abs(first.byLogs)), 1)
		scaled = scaled && h.byState.Sign() == h.byLogs.Sign() && cross.CmpAbs(slack) <= 0 && h.byLogs.CmpAbs(fewerTokens) >= 0
		keeps = keeps && h.byState.Cmp(h.byLogs) < 0 && h.byState.Sign() == h.byLogs.Sign()
	}
	switch {
	case scaled:
		return Rebasing
	case keeps:
		return FeeOnTransfer
	}
	return LogsDiffer
}

// layoutOf finds the mapping of balances: a slot that is the hash of a holder and changed
// by what the logs say. A mapping that merely changed may store shares or anything else;
// then it proves nothing.
func (c *computation) layoutOf(w *written, entries []*entry) (first *statediff.Layout, proven bool) {
	layouts := statediff.Layouts()
	for _, e := range entries[:min(len(entries), maxTries)] {
		holder := statediff.Word(c.bal.accounts[e.key.account].addr)
		for i := range layouts {
			delta, changed := w.change(layouts[i].Slot(holder))
			switch {
			case !changed:
			case sameChange(e, delta):
				return &layouts[i], true
			case first == nil:
				first = &layouts[i]
			}
		}
	}
	return first, false
}

// sameChange compares modulo 2^256. If a balance shares its slot with other data, it is the
// lower half.
func sameChange(e *entry, delta *uint256.Int) bool {
	d, _ := e.in.sub(&e.out)
	return sameWords([4]uint64{d[0], d[1], d[2], d[3]}, delta)
}

// sameAmount is sameChange for an amount modulo 2^256.
func sameAmount(n, delta *uint256.Int) bool { return sameWords(*n, delta) }

func sameWords(d [4]uint64, delta *uint256.Int) bool {
	if d[0] != delta[0] || d[1] != delta[1] {
		return false
	}
	return d[2] == delta[2] && d[3] == delta[3] || d[2] == 0 && d[3] == 0 && d[1]>>63 == 0 || ^d[2] == 0 && ^d[3] == 0 && d[1]>>63 == 1
}

// signed returns the signed difference of two slots.
func signed(d *uint256.Int) *big.Int {
	n := d.ToBig()
	if d[3]>>63 == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	return n
}

// bookFake records an event that moved nothing separately.
func (c *computation) bookFake(t Transfer) {
	c.out.Fakes = append(c.out.Fakes, t)
	for i := range c.out.Checks {
		if c.out.Checks[i].Token == t.Token {
			return
		}
	}
	k := TokenCheck{Token: t.Token, Match: FakeEvent, Holder: t.To, ByLogs: t.Amount, ByState: new(big.Int)}
	if t.To == (common.Address{}) {
		k.Holder, k.ByLogs = t.From, new(big.Int).Neg(t.Amount)
	}
	c.out.Checks = append(c.out.Checks, k)
}
