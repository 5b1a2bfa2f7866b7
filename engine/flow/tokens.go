package flow

import (
	"slices"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

var (
	cryptoKitties = common.HexToAddress("0x06012c8cf97BEaD5deAe237070F9587f8E7A266d")
	one           = uint256.NewInt(1)
)

// tokens lists and records the token transfers of the receipt's logs. Logs whose topics or
// data do not fit their event are ignored: any contract may emit any bytes under any topic.
func (c *computation) tokens() {
	if c.Receipt == nil {
		return
	}
	logs := c.Receipt.Logs
	n, approved := 0, false
	for i := range logs {
		if l := &logs[i]; len(l.Topics) > 0 {
			approved = approved || l.Topics[0] == evmsig.TopicApproval
			if movesTokens(l.Topics[0]) {
				n++
			}
		}
	}
	if approved {
		c.approvals()
	}
	if n == 0 {
		return
	}
	c.out.Transfers = slices.Grow(c.out.Transfers, n)
	c.slab.reserve(2 * n)
	c.fake = c.fakes()
	c.repeated = c.repeats()
	for i := range logs {
		if len(logs[i].Topics) > 0 && !c.repeated[i] && !c.nativeLog(&logs[i]) {
			c.log(&logs[i], i)
		}
	}
}

func movesTokens(topic common.Hash) bool {
	switch topic {
	case evmsig.TopicTransfer,
		evmsig.TopicTransferSingle,
		evmsig.TopicTransferBatch,
		evmsig.TopicTransfer6909,
		evmsig.TopicConsecutiveTransfer,
		evmsig.TopicDeposit,
		evmsig.TopicWithdrawal,
		evmsig.TopicTransfer404,
		evmsig.TopicTransfer223,
		evmsig.TopicSent777,
		evmsig.TopicMinted777,
		evmsig.TopicBurned777,
		evmsig.TopicMint,
		evmsig.TopicBurn,
		evmsig.TopicMintAmount,
		evmsig.TopicBurnAmount,
		evmsig.TopicIssueAmount,
		evmsig.TopicRedeemAmount,
		evmsig.TopicVaultDeposit,
		evmsig.TopicVaultWithdraw:
		return true
	}
	return isNote(topic)
}

// nativeLog reports whether a log only repeats a native move.
func (c *computation) nativeLog(l *ethrpc.Log) bool {
	if l.Address == evmsig.NativeLogger {
		return true
	}
	return c.Chain.Stack.NativeLogs() == chain.NativeLogsAll && c.nativeToken(l.Address)
}

// nativeToken reports whether a is the contract that makes the native coin a token.
func (c *computation) nativeToken(a common.Address) bool {
	t := c.Chain.Stack.NativeToken()
	return t != nil && a == *t
}

func (c *computation) log(l *ethrpc.Log, pos int) {
	t := Transfer{Token: l.Address, Log: pos}
	switch l.Topics[0] {
	case evmsig.TopicTransfer:
		c.transferEvent(t, l)
	case evmsig.TopicTransferSingle:
		c.singleEvent(t, l)
	case evmsig.TopicTransferBatch:
		c.batchEvent(t, l)
	case evmsig.TopicTransfer6909:
		c.multiTokenEvent(t, l)
	case evmsig.TopicConsecutiveTransfer:
		c.rangeEvent(t, l)
	case evmsig.TopicDeposit, evmsig.TopicWithdrawal:
		c.wrapEvent(t, l)
	default:
		c.ownEvent(t, l)
	}
}

// transferEvent reads the event that ERC-20 and ERC-721 share.
func (c *computation) transferEvent(t Transfer, l *ethrpc.Log) {
	from, to, v, ok := readTransfer(l)
	if !ok {
		return
	}
	t.From, t.To, t.Standard = from, to, ERC20
	if id, ok := c.punk(t.Log, &v); ok && len(l.Topics) != 4 {
		t.Standard = ERC721
		c.transfer(t, id, one)
		return
	}
	if c.readsID(l) {
		t.Standard = ERC721
		c.transfer(t, &v, one)
		return
	}
	c.transfer(t, nil, &v)
}

// maxPunkLogs bounds how far behind its Transfer the event with the index of a punk is:
// a sale withdraws the offer in between.
const maxPunkLogs = 3

// punk returns the index of the CryptoPunk that a Transfer of one unit moved. The contract
// is older than ERC-721 and tells the index in a second event, PunkTransfer or PunkBought.
func (c *computation) punk(pos int, amount *uint256.Int) (*uint256.Int, bool) {
	if amount.CmpUint64(1) != 0 {
		return nil, false
	}
	logs := c.Receipt.Logs
	for i := pos + 1; i < len(logs) && i <= pos+maxPunkLogs && logs[i].Address == logs[pos].Address && len(logs[i].Topics) > 0; i++ {
		switch l := &logs[i]; {
		case l.Topics[0] == evmsig.TopicTransfer:
			return nil, false
		case l.Topics[0] == evmsig.TopicPunkTransfer && len(l.Topics) == 3 && len(l.Data) == 32:
			return new(uint256.Int).SetBytes32(l.Data), true
		case l.Topics[0] == evmsig.TopicPunkBought && len(l.Topics) == 4:
			return new(uint256.Int).SetBytes32(l.Topics[1][:]), true
		}
	}
	return nil, false
}

// erc20Transfer reads Transfer(address,address,uint256) with two, one or no
// indexed argument. With one it is the sender: no token that indexes the
// recipient alone is known.
func erc20Transfer(l *ethrpc.Log) (from, to common.Address, v uint256.Int, ok bool) {
	if len(l.Topics) == 0 || l.Topics[0] != evmsig.TopicTransfer {
		return from, to, v, false
	}
	words := l.Data
	switch {
	case len(l.Topics) == 3 && len(words) >= 32:
		from, to, ok = parties(l.Topics[1][:], l.Topics[2][:])
	case len(l.Topics) == 2 && len(words) >= 64:
		from, to, ok = parties(l.Topics[1][:], words[:32])
		words = words[32:]
	case len(l.Topics) == 1 && len(words) >= 96:
		from, to, ok = parties(words[:32], words[32:64])
		words = words[64:]
	}
	if ok {
		v.SetBytes32(words[:32])
	}
	return from, to, v, ok
}

// singleEvent reads ERC-1155 TransferSingle.
func (c *computation) singleEvent(t Transfer, l *ethrpc.Log) {
	if len(l.Topics) != 4 || len(l.Data) < 64 {
		return
	}
	var id, v uint256.Int
	var ok bool
	if t.From, t.To, ok = parties(l.Topics[2][:], l.Topics[3][:]); ok {
		t.Standard = ERC1155
		id.SetBytes32(l.Data[:32])
		v.SetBytes32(l.Data[32:64])
		c.transfer(t, &id, &v)
	}
}

// batchEvent reads ERC-1155 TransferBatch. Both arrays must lie inside the data
// and be of equal length, so a log yields at most one transfer per word of it.
func (c *computation) batchEvent(t Transfer, l *ethrpc.Log) {
	if len(l.Topics) != 4 {
		return
	}
	ids, ok1 := evmsig.Words(l.Data, 0)
	values, ok2 := evmsig.Words(l.Data, 1)
	var ok bool
	t.From, t.To, ok = parties(l.Topics[2][:], l.Topics[3][:])
	if !ok || !ok1 || !ok2 || len(ids) != len(values) {
		return
	}
	t.Standard = ERC1155
	var id, v uint256.Int
	for i := 0; i < len(ids); i += 32 {
		id.SetBytes32(ids[i : i+32])
		v.SetBytes32(values[i : i+32])
		t.Sub = i / 32
		c.transfer(t, &id, &v)
	}
}

// multiTokenEvent reads ERC-6909 Transfer: caller and amount are in the data.
func (c *computation) multiTokenEvent(t Transfer, l *ethrpc.Log) {
	if len(l.Topics) != 4 || len(l.Data) < 64 {
		return
	}
	var id, v uint256.Int
	var ok bool
	if t.From, t.To, ok = parties(l.Topics[1][:], l.Topics[2][:]); ok {
		t.Standard = ERC6909
		id.SetBytes32(l.Topics[3][:])
		v.SetBytes32(l.Data[32:64])
		c.transfer(t, &id, &v)
	}
}

// rangeEvent reads ConsecutiveTransfer of ERC-2309, which moves all ids from the first to the last.
// They stay one movement: an event may tell of more ids than could be listed.
func (c *computation) rangeEvent(t Transfer, l *ethrpc.Log) {
	if len(l.Topics) != 4 || len(l.Data) != 32 {
		return
	}
	var ok bool
	if t.From, t.To, ok = parties(l.Topics[2][:], l.Topics[3][:]); !ok {
		return
	}
	var first, last, n uint256.Int
	first.SetBytes32(l.Topics[1][:])
	last.SetBytes32(l.Data)
	t.Standard = ERC721
	switch {
	case last.Lt(&first):
		return
	case last.Eq(&first):
		c.transfer(t, &first, one)
		return
	}
	if n.Sub(&last, &first); n.AddUint64(&n, 1).IsZero() {
		return // all 2^256 ids: no contract has them
	}
	t.Last = c.slab.of(&last)
	c.transfer(t, &first, &n)
}

// transfer lists one transfer and records both ends. Transfers of the native coin's token
// contract are native moves already, so they are only listed.
func (c *computation) transfer(t Transfer, id, v *uint256.Int) {
	t.Amount = c.slab.of(v)
	if id != nil {
		t.ID = c.slab.of(id)
	}
	if c.fake[t.Token] {
		c.bookFake(t)
		return
	}
	c.out.Transfers = append(c.out.Transfers, t)
	if c.nativeToken(t.Token) {
		return
	}
	f := fungible
	switch {
	case t.Last != nil:
		f, id = ranged, c.bal.rangeNumber(t.Key().ID)
	case t.Standard == ERC721:
		f = single
	case id != nil:
		f = multi
	}
	c.bal.token(t.From, t.Token, f, id, v, false)
	c.bal.token(t.To, t.Token, f, id, v, true)
}

func parties(a, b []byte) (from, to common.Address, ok bool) {
	from, ok1 := evmsig.Address(a)
	to, ok2 := evmsig.Address(b)
	return from, to, ok1 && ok2
}
