package classify

import (
	"math/big"
	"slices"
	"strings"

	"txlens/engine/ethrpc"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// hit is one log that the registry knows, with what the rules need of it.
type hit struct {
	rule     *rule4log
	act      act // of the rule, or narrowed by who emitted the log
	log      int // receipt position, noLog where a call made the hit
	frame    int // the call, where log is noLog
	emitter  common.Address
	slug     string // protocol, empty when the emitter could not be told
	party    []common.Address
	mine     bool // the actor is a party
	weak     bool // a common text from an unknown emitter: counts only when mine
	anyParty bool // the text names no party
}

// leg is one asset that the actor gave up or got, net over the transaction.
type leg struct {
	key    flow.TokenKey
	amount *big.Int // positive
	minted bool     // came into being for the actor, or was destroyed by it: a share, not a trade
	peer   common.Address
}

func (l *leg) native() bool { return l.key == flow.TokenKey{} }

// how an actor was found behind the sender.
type disguise string

const (
	asSender   disguise = ""
	asUserOp   disguise = "user operation"
	asSafe     disguise = "Safe"
	asIntent   disguise = "signed order"
	asFill     disguise = "bridge fill"
	asSigned   disguise = "signed authorization"
	asDelegate disguise = "EIP-7702 account"
	asContract disguise = "contract of the sender"
)

// analysis is the working state of one classification. It is made, filled by the
// steps of Classify in order, and thrown away.
type Reading struct {
	*Facts
	reg     *registry
	chainID uint64

	hits     []hit
	brands   []hit // notes that name the protocol of their emitter
	approves []int // receipt positions of ERC-20 and ERC-721 approvals

	sender common.Address
	actor  common.Address
	how    disguise
	actors []common.Address // all of them where one transaction serves several
	entry  common.Address   // contract that was called for the actor
	hasTo  bool             // entry is set
	call   *rule4call       // what the calldata for entry attempts
	name   string           // decoded name of that function
	frame  *trace.Frame     // the frame that calls entry, nil when it was not found
	inner  bool             // the user's own act failed inside a transaction that succeeded
	// operations are those of an ERC-4337 bundle, and failedOps how many of them failed
	operations, failedOps int
	out, in               []leg // of the actor, the fee put back

	trader   common.Address // the contract whose movements count, when not the actor's own
	sandwich *Sandwich      // nil: none, or not looked for

	changes   map[common.Address]*flow.Change
	pools     map[common.Address]bool        // emitters of pool and vault events
	tokens    map[common.Address]bool        // contracts that moved as tokens
	supply    map[common.Address][2]*big.Int // minted and burnt, of fungible tokens
	granted   bool
	grantList []grant
}

// Read reads the facts of a transaction in one pass.
func Read(f *Facts) *Reading {
	a := &Reading{Facts: f, reg: theRegistry()}
	if f.Chain != nil {
		a.chainID = f.Chain.ID
	}
	if f.Flow != nil && len(f.Flow.Changes) > 0 {
		a.changes = make(map[common.Address]*flow.Change, len(f.Flow.Changes))
		for i := range f.Flow.Changes {
			a.changes[f.Flow.Changes[i].Address] = &f.Flow.Changes[i]
		}
	}
	a.sender = f.Tx.From
	a.actor = a.sender
	if f.Tx.To != nil {
		a.entry, a.hasTo = *f.Tx.To, true
	}
	a.call = a.reg.call(f.Tx.Input)
	if f.Tree != nil && f.Tree.Root != nil {
		a.frame = f.Tree.Root
	}
	a.name = a.nameOfCall(a.frame)
	switch {
	case f.Succeeded:
		a.collect()
		a.unwrap()
		a.mark()
		a.measure()
	default:
		a.unwrapAttempt()
		a.actors = []common.Address{a.actor}
	}
	return a
}

// nameOfCall is the decoded function name of a frame, empty when unknown.
func (a *Reading) nameOfCall(f *trace.Frame) string {
	if f == nil || a.Decoded == nil || f.Index >= len(a.Decoded.Calls) || a.Decoded.Calls[f.Index] == nil {
		return ""
	}
	return a.Decoded.Calls[f.Index].Name
}

// collect matches the logs. Plain token transfers are left to the flow.
func (a *Reading) collect() {
	if a.Receipt == nil || !a.Succeeded {
		return
	}
	if a.NoLogs {
		a.collectCalls()
	}
	wraps := a.wraps()
	for i := range a.Receipt.Logs {
		l := &a.Receipt.Logs[i]
		r := a.reg.event(l)
		if r != nil && r.flags&flagBrand != 0 && len(a.brands) < maxTried {
			a.brands = append(a.brands, hit{rule: r, log: i, emitter: l.Address, slug: r.slug, party: partiesOf(r, l)})
		}
		if r == nil || r.act == actTransfer || r.act == "note" || pokes(r, l) {
			continue
		}
		if r.act == actApproval && r.slug == "" {
			a.approves = append(a.approves, i)
			continue
		}
		h := hit{rule: r, act: r.act, log: i, emitter: l.Address, anyParty: len(r.party) == 0, party: partiesOf(r, l)}
		a.settle(&h, wraps)
		a.hits = append(a.hits, h)
	}
	a.prove()
	a.pools = map[common.Address]bool{}
	for i := range a.hits {
		if h := &a.hits[i]; h.rule.flags&(flagPool|flagVault) != 0 {
			a.pools[h.emitter] = true
		}
	}
}

// pokes: a burn of no liquidity takes nothing out. The positions of Uniswap v3 burn so
// to have the fees of a position booked before they are collected.
func pokes(r *rule4log, l *ethrpc.Log) bool {
	if r.act != actRemoveLiq || r.family != "uniswap-v3" {
		return false
	}
	n := r.number(l, "amount")
	return n != nil && n.Sign() == 0
}

func partiesOf(r *rule4log, l *ethrpc.Log) (party []common.Address) {
	for _, s := range r.party {
		if p, ok := s.at(l); ok {
			party = append(party, p)
		}
	}
	return party
}

// wraps are the receipt positions that the flow took for wrapping of native coin.
func (a *Reading) wraps() map[int]bool {
	var m map[int]bool
	if a.Flow == nil {
		return nil
	}
	for i := range a.Flow.Transfers {
		if t := &a.Flow.Transfers[i]; t.Wrap {
			if m == nil {
				m = map[int]bool{}
			}
			m[t.Log] = true
		}
	}
	return m
}

// settle decides what a text means from its emitter, and whose protocol it is.
func (a *Reading) settle(h *hit, wraps map[int]bool) {
	known := a.ProtocolAt(h.emitter)
	own := h.rule.flags&flagOwn != 0
	switch {
	case (h.act == actWrap || h.act == actUnwrap) && a.wrappedNative(h.emitter):
		// The chain's own wrapped coin; some of them emit a Transfer as well.
	case h.act == actWrap && !wraps[h.log]:
		h.act, h.weak = actVaultIn, true
	case h.act == actUnwrap && !wraps[h.log]:
		h.act, h.weak = actVaultOut, true
	case h.rule.flags&flagCommon != 0:
		h.weak = known == ""
	}
	switch {
	case own && !(isBridge(h.rule.slug) && isBridge(known)):
		h.slug = h.rule.slug // a token labelled with its issuer still crosses by this bridge
	default:
		h.slug = known
	}
	if h.slug == "op_stack_bridge" {
		h.slug = a.rollupBridge()
	}
}

func isBridge(slug string) bool { return strings.HasSuffix(slug, "_bridge") }

// mark sets which hits are the actor's, once the actor is known.
func (a *Reading) mark() {
	for i := range a.hits {
		h := &a.hits[i]
		h.mine = h.rule.flags&flagAlways != 0
		for _, p := range h.party {
			if p == a.actor || p == a.sender {
				h.mine = true
			}
		}
	}
}

// each calls f for the hits of an act that count.
func (a *Reading) find(want ...act) (found []*hit) {
	for i := range a.hits {
		h := &a.hits[i]
		if h.weak && !h.mine {
			continue
		}
		for _, w := range want {
			if h.act == w {
				found = append(found, h)
				break
			}
		}
	}
	return found
}

func (a *Reading) has(want ...act) bool { return len(a.find(want...)) > 0 }

// measure fills the legs of the actor, or of the sender's contract when the actor
// itself moved nothing: bots and old wallets keep their assets there.
func (a *Reading) measure() {
	a.out, a.in = a.legsOf(a.actor)
	if len(a.in) > 0 || tokensIn(a.out) || a.how != asSender || !a.hasTo || a.Tx.To == nil {
		return
	}
	if a.ProtocolAt(a.entry) != "" || a.isPool(a.entry) || a.isToken(a.entry) || !a.has(actSwap) {
		return
	}
	// A tip or a few wei that steer a bot's code may come along with its call.
	if out, in := a.legsOf(a.entry); len(in) > 0 && (len(a.out) == 0 || tokensIn(out) || tokensIn(in)) {
		if len(in) == 1 && in[0].dust() && !tokensIn(out) {
			a.elsewhere()
			return
		}
		a.out, a.in = joint(a.out, out, a.in, in)
		a.how, a.trader = asContract, a.entry
	} else if len(a.out) == 0 || a.out[0].dust() {
		a.elsewhere()
	}
}

// elsewhere finds the one account that traded when neither the sender nor the contract
// it called did: bots keep their assets in a vault beside their code.
func (a *Reading) elsewhere() {
	if a.Flow == nil || len(a.Flow.Changes) > maxTried {
		return
	}
	var who []common.Address
	for i := range a.Flow.Changes {
		c := a.Flow.Changes[i].Address
		if c == a.sender || c == a.entry || a.isPool(c) || a.isToken(c) || a.known(c) {
			continue
		}
		if out, in := a.netOf(c); len(out) == 1 && len(in) == 1 && (tokensIn(out) || tokensIn(in)) {
			who = append(who, c)
		}
	}
	// Unknown pools look like traders: the other side of one trade is one of them.
	if len(who) != 1 {
		return
	}
	a.out, a.in = a.legsOf(who[0])
	a.how, a.trader = asContract, who[0]
}

// joint nets two addresses as one: what passed between them is nothing.
func joint(out1, out2, in1, in2 []leg) (out, in []leg) {
	for _, l := range append(append([]leg(nil), out1...), out2...) {
		l.amount = new(big.Int).Set(l.amount)
		out = append(out, l)
	}
	for _, l := range append(append([]leg(nil), in1...), in2...) {
		l.amount = new(big.Int).Set(l.amount)
		for j := range out {
			if o := &out[j]; o.key == l.key {
				both := o.amount
				if both.Cmp(l.amount) > 0 {
					both = l.amount
				}
				both = new(big.Int).Set(both)
				o.amount.Sub(o.amount, both)
				l.amount.Sub(l.amount, both)
			}
		}
		if l.amount.Sign() > 0 {
			in = append(in, l)
		}
	}
	return slices.DeleteFunc(out, func(l leg) bool { return l.amount.Sign() == 0 }), in
}

func tokensIn(legs []leg) bool {
	for _, l := range legs {
		if !l.native() {
			return true
		}
	}
	return false
}

func (a *Reading) isPool(addr common.Address) bool { return a.pools[addr] }

func (a *Reading) isToken(addr common.Address) bool {
	if _, ok := a.Tokens[addr]; ok {
		return true
	}
	if a.tokens == nil && a.Flow != nil {
		a.tokens = map[common.Address]bool{}
		for i := range a.Flow.Transfers {
			a.tokens[a.Flow.Transfers[i].Token] = true
		}
	}
	return a.tokens[addr]
}
