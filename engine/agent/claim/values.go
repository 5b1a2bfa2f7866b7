package claim

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// refKind is the signature of a reference of the check language.
type refKind struct {
	args   []argForm
	signed bool // may be below zero
	get    func(*Index, []string) (value, error)
}

// argForm is the type of a reference's argument.
type argForm uint8

const (
	argName    argForm = iota // an argument by its name or position
	argAddress                // an account
	argToken                  // the contract of a token, or native
	argLog                    // the index of a log
	argFrame                  // the path of a frame
	argSlot                   // a slot of storage
)

// value is the computed value of a reference.
type value struct {
	n       *big.Int
	token   *common.Address // the amount is in base units of this token; nil: no token
	touches []api.Addr      // accounts that it is about
	units   []units         // amounts by token id, if the token has ids
}

// units is an amount of one id of a token.
type units struct {
	key flow.TokenKey
	n   *big.Int
}

// references are the values of the evidence that a check can name. Amounts are in base
// units. An account that a token never touched has zero; an account that is not in the
// evidence is an error.
//
// init fills the table, because evaluation refers to it.
var references map[string]refKind

func init() {
	account, ofToken := []argForm{argAddress, argToken}, []argForm{argToken}
	references = map[string]refKind{
		"net":            {account, true, (*Index).refNet}, // change of the balance, fees included
		"sent":           {account, false, refTotal(true)},
		"received":       {account, false, refTotal(false)},
		"minted":         {ofToken, false, refSupply(true)},
		"burnt":          {ofToken, false, refSupply(false)},
		"transfer":       {[]argForm{argLog}, false, (*Index).refTransfer}, // amount
		"arg":            {[]argForm{argLog, argName}, true, (*Index).refArg},
		"value":          {[]argForm{argFrame}, false, (*Index).refValue}, // wei
		"input":          {[]argForm{argFrame, argName}, true, (*Index).refInput},
		"output":         {[]argForm{argFrame, argName}, true, (*Index).refOutput},
		"before":         {[]argForm{argAddress, argSlot}, false, refSlot(true)},
		"after":          {[]argForm{argAddress, argSlot}, false, refSlot(false)},
		"balance_before": {[]argForm{argAddress}, false, refBalance(true)},  // wei
		"balance_after":  {[]argForm{argAddress}, false, refBalance(false)}, // wei
		"fee":            {[]argForm{}, false, (*Index).refFee},             // wei
	}
}

func unresolved(what string) error {
	return fmt.Errorf("%w: %s is not in the evidence", errValue, what)
}

// existing parses an address that exists in the evidence.
func (ix *Index) existing(s string) (api.Addr, error) {
	var a api.Addr
	if a.UnmarshalText([]byte(s)) != nil || !ix.addresses[a] {
		return a, unresolved("an address")
	}
	return a, nil
}

// token reads a token's address, or native.
func (ix *Index) token(s string) (common.Address, error) {
	if s == "native" {
		return common.Address{}, nil
	}
	a, err := ix.existing(s)
	return common.Address(a), err
}

func (ix *Index) pair(args []string) (who api.Addr, token common.Address, err error) {
	if who, err = ix.existing(args[0]); err == nil {
		token, err = ix.token(args[1])
	}
	if err == nil && ix.c.Flow == nil {
		err = unresolved("a ledger")
	}
	return who, token, err
}

func (ix *Index) refNet(args []string) (value, error) {
	who, token, err := ix.pair(args)
	v := value{n: new(big.Int), token: &token, touches: []api.Addr{who}}
	if err != nil {
		return v, err
	}
	for _, c := range ix.c.Flow.Changes {
		if api.AddrOf(c.Address) != who {
			continue
		}
		for _, d := range c.Deltas {
			if d.Key.Token == token {
				v.n.Add(v.n, d.Amount) // all ids of a token together
			}
		}
	}
	return v, nil
}

// refTotal sums what an account sent or received, without fees.
func refTotal(sent bool) func(*Index, []string) (value, error) {
	return func(ix *Index, args []string) (value, error) {
		who, token, err := ix.pair(args)
		v := value{n: new(big.Int), token: &token, touches: []api.Addr{who}}
		if err != nil {
			return v, err
		}
		add := func(from, to common.Address, n *big.Int) {
			if sent && api.AddrOf(from) == who || !sent && api.AddrOf(to) == who {
				v.n.Add(v.n, n)
			}
		}
		for i := range ix.c.Flow.Transfers {
			if t := &ix.c.Flow.Transfers[i]; t.Token == token {
				add(t.From, t.To, t.Amount)
			}
		}
		if token == (common.Address{}) {
			for _, m := range ix.c.Flow.Moves {
				if m.Kind != flow.MoveFee && !m.NoTo && m.Kind != flow.MoveMint {
					add(m.From, m.To, m.Amount)
				}
			}
		}
		return v, nil
	}
}

// refSupply sums what was minted or burnt.
func refSupply(minted bool) func(*Index, []string) (value, error) {
	return func(ix *Index, args []string) (value, error) {
		token, err := ix.token(args[0])
		v := value{n: new(big.Int), token: &token, touches: []api.Addr{api.AddrOf(token)}}
		if err != nil || ix.c.Flow == nil {
			return v, unresolved("a token")
		}
		for i := range ix.c.Flow.Transfers {
			t := &ix.c.Flow.Transfers[i]
			end := t.To
			if minted {
				end = t.From
			}
			if t.Token == token && end == (common.Address{}) {
				v.n.Add(v.n, t.Amount)
			}
		}
		return v, nil
	}
}

func (ix *Index) logIndex(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if _, ok := ix.logs[n]; err != nil || !ok {
		return 0, unresolved("a log")
	}
	return n, nil
}

func (ix *Index) refTransfer(args []string) (value, error) {
	n, err := ix.logIndex(args[0])
	if err != nil || ix.c.Flow == nil {
		return value{}, unresolved("a log")
	}
	v := value{n: new(big.Int)}
	for i := range ix.c.Flow.Transfers {
		t := &ix.c.Flow.Transfers[i]
		if t.Log == ix.logs[n] {
			v.n.Add(v.n, t.Amount)
			v.token = &t.Token
			if t.ID != nil {
				v.units = append(v.units, units{t.Key(), t.Amount})
			}
			v.touches = []api.Addr{api.AddrOf(t.From), api.AddrOf(t.To), api.AddrOf(t.Token)}
		}
	}
	if v.token == nil {
		return v, unresolved("a transfer")
	}
	return v, nil
}

func (ix *Index) refArg(args []string) (value, error) {
	n, err := ix.logIndex(args[0])
	if err != nil {
		return value{}, err
	}
	at := api.AddrOf(ix.c.Receipt.Logs[ix.logs[n]].Address)
	var list []api.Arg
	if e := ix.c.Decoded.Events[ix.logs[n]]; e != nil {
		list = e.Args
	}
	v, err := number256(list, args[1])
	return value{n: v, touches: []api.Addr{at}}, err
}

// number256 returns an argument, by name or position, as an integer.
func number256(list []api.Arg, which string) (*big.Int, error) {
	at := -1
	for i, a := range list {
		if a.Name == which {
			at = i
			break
		}
	}
	if n, err := strconv.ParseUint(which, 10, 16); at < 0 && err == nil && int(n) < len(list) {
		at = int(n)
	}
	if at < 0 {
		return nil, unresolved("an argument")
	}
	switch v := list[at].Value.(type) {
	case bool:
		if v {
			return big.NewInt(1), nil
		}
		return new(big.Int), nil
	case string:
		if list[at].Type == "string" {
			break
		}
		if n := integerOf(v); strings.HasPrefix(v, "0x") && n != nil {
			return n, nil
		}
		if n, ok := new(big.Int).SetString(v, 10); ok && len(v) <= 80 {
			return n, nil
		}
	}
	return nil, unresolved("an integer of that argument")
}

// integerOf parses 0x hex; nil if it is malformed or longer than 32 bytes.
func integerOf(s string) *big.Int {
	if len(s) < 3 || len(s) > 66 {
		return nil
	}
	n, ok := new(big.Int).SetString(s[2:], 16)
	if !ok || n.Sign() < 0 {
		return nil
	}
	return n
}

func (ix *Index) refValue(args []string) (value, error) {
	f := ix.frames[args[0]]
	if f == nil {
		return value{}, unresolved("a frame")
	}
	native := common.Address{}
	n := new(big.Int)
	if f.MovesValue() && f.Status == 0 {
		n = f.Value.ToBig()
	}
	return value{n: n, token: &native, touches: []api.Addr{api.AddrOf(f.From), api.AddrOf(f.To)}}, nil
}

func (ix *Index) refInput(args []string) (value, error) {
	f := ix.frames[args[0]]
	if f == nil {
		return value{}, unresolved("a frame")
	}
	n, err := number256(ix.nodeAt[args[0]].DecodedArgs, args[1])
	return value{n: n, touches: []api.Addr{api.AddrOf(f.From), api.AddrOf(f.To)}}, err
}

// refOutput is a decoded return value, or else a word of the return data.
func (ix *Index) refOutput(args []string) (value, error) {
	f := ix.frames[args[0]]
	if f == nil || f.Err != "" {
		return value{}, unresolved("a return value")
	}
	// It is about who said it, and about who was told.
	v := value{touches: []api.Addr{api.AddrOf(f.To), api.AddrOf(f.From)}}
	if d := ix.c.Decoded; d != nil && f.Index < len(d.Calls) && d.Calls[f.Index] != nil && len(d.Calls[f.Index].Outputs) > 0 {
		var err error
		if v.n, err = number256(d.Calls[f.Index].Outputs, args[1]); err == nil {
			return v, nil
		}
	}
	i, err := strconv.ParseUint(args[1], 10, 10)
	if err != nil || len(f.Output) < int(i+1)*32 {
		return v, unresolved("a return value")
	}
	v.n = new(big.Int).SetBytes(f.Output[i*32 : (i+1)*32])
	return v, nil
}

// refSlot returns a storage word before or after. A slot that is not in the diff did not
// change, and its value is unknown.
func refSlot(before bool) func(*Index, []string) (value, error) {
	return func(ix *Index, args []string) (value, error) {
		a, err := ix.existing(args[0])
		if err != nil {
			return value{}, err
		}
		slot, err := integerLiteral(args[1])
		if err != nil {
			return value{}, err
		}
		pre, post, ok := ix.slot(a, common.BigToHash(slot))
		if !ok {
			return value{}, unresolved("a slot that changed")
		}
		if !before {
			pre = post
		}
		return value{n: pre.Big(), touches: []api.Addr{a}}, nil
	}
}

// slot returns the value of a slot that the transaction changed.
func (ix *Index) slot(a api.Addr, slot common.Hash) (pre, post common.Hash, ok bool) {
	d := ix.c.Evidence.Diff
	if d == nil {
		return
	}
	before, after := d.Pre[common.Address(a)], d.Post[common.Address(a)]
	if before != nil {
		pre, ok = before.Storage[slot]
	}
	if after != nil {
		if v, has := after.Storage[slot]; has {
			post, ok = v, true
		}
	}
	return pre, post, ok
}

// refBalance returns the balance of the native coin. An account that is in the diff without
// a balance after kept its balance.
func refBalance(before bool) func(*Index, []string) (value, error) {
	return func(ix *Index, args []string) (value, error) {
		a, err := ix.existing(args[0])
		native := common.Address{}
		v := value{token: &native, touches: []api.Addr{a}}
		if err != nil {
			return v, err
		}
		d := ix.c.Evidence.Diff
		if d == nil {
			return v, unresolved("a state diff")
		}
		pre, post := d.Pre[common.Address(a)], d.Post[common.Address(a)]
		switch {
		case !before && post != nil && post.Balance != nil:
			v.n = post.Balance
		case !before && post == nil && pre != nil:
			v.n = new(big.Int) // deleted
		case pre != nil && pre.Balance != nil:
			v.n = pre.Balance
		case before && post != nil:
			v.n = new(big.Int)
		default:
			return v, unresolved("a balance")
		}
		return v, nil
	}
}

// refFee is the fee of the transaction.
func (ix *Index) refFee([]string) (value, error) {
	native := common.Address{}
	v := value{token: &native, touches: []api.Addr{ix.r.TxMeta.From}}
	if f := ix.c.Flow; f == nil || f.Fee == nil || f.Fee.Total == nil {
		return v, unresolved("a fee")
	}
	v.n = ix.c.Flow.Fee.Total
	return v, nil
}

// valueReference parses the VALUE of a reference in a text or a figure: the name of a
// reference of the check language and its arguments. Addresses may be abbreviated, and a
// transfer is named by its log.
func (ix *Index) valueReference(args []string) (reference, Reason) {
	r := reference{name: args[0], args: append([]string(nil), args[1:]...)}
	if r.name == "log" {
		r.name = "transfer"
	}
	k, ok := references[r.name]
	switch {
	case !ok:
		return r, UnknownKind
	case len(r.args) != len(k.args):
		return r, Malformed
	}
	for i, form := range k.args {
		switch form {
		case argAddress:
			a, why := ix.addressOf(r.args[i])
			if why != Accepted {
				return r, why
			}
			r.args[i] = a.String()
		case argToken:
			a, why := ix.tokenOf(r.args[i])
			if why != Accepted {
				return r, why
			}
			if r.args[i] = api.AddrOf(a).String(); a == (common.Address{}) {
				r.args[i] = "native"
			}
		case argFrame:
			if ix.frames[r.args[i]] == nil {
				return r, Unresolved
			}
		}
	}
	return r, Accepted
}

// addressOf parses an address of a reference: in full, abbreviated as in 0x1234…abcd, or
// the words sender, target and actor.
func (ix *Index) addressOf(s string) (api.Addr, Reason) {
	switch m := ix.r.TxMeta; {
	case s == "sender":
		return m.From, Accepted
	case s == "target" && m.To != nil:
		return *m.To, Accepted
	case s == "actor" && ix.r.Provenance != nil && ix.r.Provenance.Actor != nil:
		return *ix.r.Provenance.Actor, Accepted
	}
	if head, tail, ok := ellipsis(strings.ToLower(s)); ok {
		return ix.abbreviated(head, tail)
	}
	a, err := ix.existing(s)
	if err != nil {
		return a, Unresolved
	}
	return a, Accepted
}

func ellipsis(s string) (head, tail string, found bool) {
	for _, gap := range []string{"…", "...", ".."} {
		if head, tail, found = strings.Cut(s, gap); found {
			return head, tail, true
		}
	}
	return s, "", false
}

// Digits that an abbreviated address must have: 0x1234…abcd.
const (
	headShown = 6
	tailShown = 4
)

// endsOf returns the bytes of an address that its abbreviated form shows.
func endsOf(a api.Addr) [4]byte { return [4]byte{a[0], a[1], a[18], a[19]} }

// abbreviated returns the only address with these first and last digits.
func (ix *Index) abbreviated(head, tail string) (found api.Addr, why Reason) {
	if len(head) < headShown || len(tail) < tailShown || len(head)+len(tail) > 42 {
		return found, Unresolved
	}
	var key api.Addr
	if key.UnmarshalText([]byte(head[:headShown]+strings.Repeat("0", 32)+tail[len(tail)-tailShown:])) != nil {
		return found, Unresolved
	}
	if len(ix.addresses) != ix.endsAt {
		ix.ends, ix.endsAt = map[[4]byte][]api.Addr{}, len(ix.addresses)
		for a := range ix.addresses {
			ix.ends[endsOf(a)] = append(ix.ends[endsOf(a)], a)
		}
	}
	why = Unresolved
	for _, a := range ix.ends[endsOf(key)] {
		if s := a.String(); strings.HasPrefix(s, head) && strings.HasSuffix(s, tail) {
			if why == Accepted {
				return found, Ambiguous
			}
			found, why = a, Accepted
		}
	}
	return found, why
}

// tokenOf parses a token of a reference: an address, or native.
func (ix *Index) tokenOf(s string) (common.Address, Reason) {
	if s == "native" {
		return common.Address{}, Accepted
	}
	a, why := ix.addressOf(s)
	return common.Address(a), why
}

// refer evaluates a reference.
func (ix *Index) refer(r reference) (value, error) { return references[r.name].get(ix, r.args) }

// look is refer in the form that eval takes.
func (ix *Index) look(r reference) (*big.Int, error) {
	v, err := ix.refer(r)
	return v.n, err
}
