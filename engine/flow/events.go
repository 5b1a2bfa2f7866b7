package flow

import (
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Tokens of other standards, and older ones, log movements with events of their own. Most
// log the Transfer of ERC-20 beside them: both are one movement.

// ownEvent reads the event that moves amounts in a way of its own: by ERC-404, ERC-223 or
// ERC-777, what tokens mint and burn without a Transfer, and shares of vaults (ERC-4626).
func (c *computation) ownEvent(t Transfer, l *ethrpc.Log) {
	t.Standard = ERC20
	switch l.Topics[0] {
	case evmsig.TopicTransfer404:
		plain := *l
		plain.Topics = append([]common.Hash{evmsig.TopicTransfer}, l.Topics[1:]...)
		from, to, v, ok := readTransfer(&plain)
		t.From, t.To = from, to
		c.bookOnce(t, &v, ok, l.Topics[0])
	case evmsig.TopicTransfer223:
		from, to, v, ok := readTransferWithData(l)
		t.From, t.To = from, to
		c.bookOnce(t, &v, ok, l.Topics[0])
	case evmsig.TopicSent777, evmsig.TopicMinted777, evmsig.TopicBurned777:
		v, ok := readOperated(&t, l)
		c.bookOnce(t, &v, ok, l.Topics[0])
	case evmsig.TopicMint, evmsig.TopicBurn:
		holder, v, ok := holderAmount(l)
		c.supplied(t, holder, &v, ok, l.Topics[0], l.Topics[0] == evmsig.TopicMint)
	case evmsig.TopicMintAmount, evmsig.TopicBurnAmount, evmsig.TopicIssueAmount, evmsig.TopicRedeemAmount:
		mint := l.Topics[0] == evmsig.TopicMintAmount || l.Topics[0] == evmsig.TopicIssueAmount
		holder, v, ok := c.suppliedByCall(l, t.Log, mint)
		c.supplied(t, holder, &v, ok, l.Topics[0], mint)
	case evmsig.TopicVaultDeposit, evmsig.TopicVaultWithdraw:
		c.shares(t, l)
	default:
		c.noteEvent(t, l)
	}
}

// noteEvent reads the anonymous LogNote of dappsys for a call that mints or burns: the
// selector, the caller and two arguments are indexed.
func (c *computation) noteEvent(t Transfer, l *ethrpc.Log) {
	if len(l.Topics) != 4 || !isNote(l.Topics[0]) {
		return
	}
	holder, ok := evmsig.Address(l.Topics[1][:])
	amount, mint := l.Topics[2], false
	switch evmsig.Selector(l.Topics[0][:4]) {
	case evmsig.SelMintAmount, evmsig.SelMint128:
		mint = true
	case evmsig.SelBurn, evmsig.SelBurn128:
	case evmsig.SelMint:
		mint = true
		fallthrough
	case evmsig.SelBurnOf:
		holder, ok = evmsig.Address(l.Topics[2][:])
		amount = l.Topics[3]
	default:
		return
	}
	c.supplied(t, holder, new(uint256.Int).SetBytes32(amount[:]), ok, l.Topics[0], mint)
}

// isNote reports whether a topic is a selector and nothing else.
func isNote(topic common.Hash) bool {
	for _, b := range topic[4:] {
		if b != 0 {
			return false
		}
	}
	return true
}

// readTransferWithData reads Transfer(address,address,uint256,bytes) of ERC-223, with the
// accounts indexed or not, and the bytes, too.
func readTransferWithData(l *ethrpc.Log) (from, to common.Address, v uint256.Int, ok bool) {
	words := l.Data
	switch {
	case len(l.Topics) >= 3 && len(words) >= 32:
		from, to, ok = parties(l.Topics[1][:], l.Topics[2][:])
	case len(l.Topics) == 4:
		from, to, ok = parties(l.Topics[1][:], l.Topics[2][:])
		words = l.Topics[3][:]
	case len(l.Topics) == 1 && len(words) >= 96:
		from, to, ok = parties(words[:32], words[32:64])
		words = words[64:]
	}
	if ok {
		v.SetBytes32(words[:32])
	}
	return from, to, v, ok
}

// readOperated reads Sent, Minted and Burned of ERC-777: all accounts are indexed, the
// operator is the first.
func readOperated(t *Transfer, l *ethrpc.Log) (v uint256.Int, ok bool) {
	if len(l.Data) < 32 {
		return v, false
	}
	v.SetBytes32(l.Data[:32])
	switch {
	case l.Topics[0] == evmsig.TopicSent777 && len(l.Topics) == 4:
		t.From, t.To, ok = parties(l.Topics[2][:], l.Topics[3][:])
	case l.Topics[0] == evmsig.TopicMinted777 && len(l.Topics) == 3:
		t.To, ok = evmsig.Address(l.Topics[2][:])
	case l.Topics[0] == evmsig.TopicBurned777 && len(l.Topics) == 3:
		t.From, ok = evmsig.Address(l.Topics[2][:])
	}
	return v, ok
}

// supplied books what a token says it minted for a holder, or burnt of it. Other contracts
// have events of these names, too.
func (c *computation) supplied(t Transfer, holder common.Address, v *uint256.Int, ok bool, kind common.Hash, mint bool) {
	if !ok || holder == (common.Address{}) || !c.knownToken(t.Token) {
		return
	}
	if t.From = holder; mint {
		t.From, t.To = common.Address{}, holder
	}
	c.bookOnce(t, v, true, kind)
}

// knownToken reports whether a contract is a token of amounts by its answers, or by a list.
func (c *computation) knownToken(a common.Address) bool {
	return c.Token != nil && c.Token(a) || c.Divisible != nil && c.Divisible(a)
}

// suppliedByCall reads an event that names only an amount; the call that emitted it says of
// whom.
func (c *computation) suppliedByCall(l *ethrpc.Log, pos int, mint bool) (holder common.Address, v uint256.Int, ok bool) {
	if len(l.Topics) != 1 || len(l.Data) < 32 || !c.knownToken(l.Address) {
		return holder, v, false
	}
	f := c.emittedBy(pos)
	if f == nil || f.Kind != trace.Call || f.To != l.Address || len(f.Input) < 4 {
		return holder, v, false
	}
	at := 1
	switch evmsig.Called(f.Input) {
	case evmsig.SelMint, evmsig.SelMintTo:
		ok = mint
	case evmsig.SelBurnOf, evmsig.SelBurnFrom:
		ok = !mint
	case evmsig.SelMintAmount, evmsig.SelIssue:
		ok, at = mint, 0
	case evmsig.SelBurn, evmsig.SelRedeem:
		ok, at = !mint, 0
	}
	v.SetBytes32(l.Data[:32])
	n := evmsig.Word(f.Input[4:], at)
	if !ok || n == nil || !v.Eq(new(uint256.Int).SetBytes32(n)) {
		return holder, v, false
	}
	if at == 0 {
		return f.From, v, true
	}
	holder, ok = evmsig.Address(evmsig.Word(f.Input[4:], 0))
	return holder, v, ok
}

// shares books the shares of a vault that logs what was deposited and withdrawn only.
func (c *computation) shares(t Transfer, l *ethrpc.Log) {
	v := evmsig.Word(l.Data, 1)
	if v == nil || !c.knownToken(t.Token) {
		return
	}
	var holder common.Address
	var ok bool
	switch {
	case l.Topics[0] == evmsig.TopicVaultDeposit && len(l.Topics) == 3:
		holder, ok = evmsig.Address(l.Topics[2][:])
		t.To = holder
	case l.Topics[0] == evmsig.TopicVaultWithdraw && len(l.Topics) == 4:
		holder, ok = evmsig.Address(l.Topics[3][:])
		t.From = holder
	}
	if !ok || holder == (common.Address{}) {
		return
	}
	if c.wrap == nil {
		c.wrap = c.indexWraps()
	}
	if _, logged := c.wrap.supply[[2]common.Address{t.Token, holder}]; !logged {
		c.bookOnce(t, new(uint256.Int).SetBytes32(v), true, l.Topics[0])
	}
}

// side is what of two movements must be equal for them to be one.
type side uint8

const (
	bothEnds side = iota
	receiver      // a mint, whomever the Transfer beside it names as the sender
	sender        // a burn
)

type bookedKey struct {
	token    common.Address
	side     side
	from, to common.Address
	v        uint256.Int
}

// booked counts the movements that are known, and how many of them each kind of event
// has reported.
type booked struct {
	have map[bookedKey]int
	used map[common.Hash]map[bookedKey]int
}

// bookOnce books a movement, unless another event reports it.
func (c *computation) bookOnce(t Transfer, v *uint256.Int, ok bool, kind common.Hash) {
	if !ok || v.IsZero() && t.From == t.To || c.nativeToken(t.Token) {
		return
	}
	if c.twins == nil {
		c.twins = c.indexTransfers()
	}
	k := keyOf(t.Token, t.From, t.To, v)
	used := c.twins.used[kind]
	if used == nil {
		used = map[bookedKey]int{}
		c.twins.used[kind] = used
	}
	if used[k]++; used[k] <= c.twins.have[k] {
		return
	}
	c.twins.add(t.Token, t.From, t.To, v)
	c.transfer(t, nil, v)
}

func keyOf(token, from, to common.Address, v *uint256.Int) bookedKey {
	switch k := (bookedKey{token, bothEnds, from, to, *v}); {
	case from == common.Address{}:
		return bookedKey{token, receiver, common.Address{}, to, *v}
	case to == common.Address{}:
		return bookedKey{token, sender, from, common.Address{}, *v}
	default:
		return k
	}
}

func (b *booked) add(token, from, to common.Address, v *uint256.Int) {
	none := common.Address{}
	b.have[bookedKey{token, bothEnds, from, to, *v}]++
	b.have[bookedKey{token, receiver, none, to, *v}]++
	b.have[bookedKey{token, sender, from, none, *v}]++
}

// indexTransfers counts the Transfer events of amounts.
func (c *computation) indexTransfers() *booked {
	b := &booked{map[bookedKey]int{}, map[common.Hash]map[bookedKey]int{}}
	for i := range c.Receipt.Logs {
		if l := &c.Receipt.Logs[i]; !c.repeated[i] {
			if from, to, v, ok := c.amountMoved(l); ok {
				b.add(l.Address, from, to, &v)
			}
		}
	}
	return b
}
