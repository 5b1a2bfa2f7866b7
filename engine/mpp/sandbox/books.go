package sandbox

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Books is the whole account of the chain at its head. Amounts are base units.
type Books struct {
	Block    uint64       `json:"block"`
	Supplies []Supply     `json:"supplies"` // by token
	Balances []Balance    `json:"balances"` // by token, then holder; zero ones are left out
	Channels []ChannelRow `json:"channels"` // in the order in which they were opened
	Fees     []Supply     `json:"fees"`     // paid so far, by token
}

// Supply is an amount of a token.
type Supply struct {
	Token  common.Address `json:"token"`
	Amount *uint256.Int   `json:"amount"`
}

// Balance is what one account holds of one token.
type Balance struct {
	Token  common.Address `json:"token"`
	Holder common.Address `json:"holder"`
	Amount *uint256.Int   `json:"amount"`
}

// ChannelRow is one channel from its opening on. For an open channel
// Deposited = Deposit and Captured = Settled; for a finished one
// Deposited = Captured + Refunded, and Settled and Deposit are zero as the chain
// tells them.
type ChannelRow struct {
	ID               common.Hash  `json:"id"`
	Descriptor       Descriptor   `json:"descriptor"`
	Open             bool         `json:"open"`
	Settled          *uint256.Int `json:"settled"`
	Deposit          *uint256.Int `json:"deposit"`
	CloseRequestedAt uint32       `json:"closeRequestedAt"` // Unix seconds; 0: none
	Deposited        *uint256.Int `json:"deposited"`        // at the opening and by top-ups
	Captured         *uint256.Int `json:"captured"`         // paid to the payee
	Refunded         *uint256.Int `json:"refunded"`         // paid back to the payer
}

// Books reads balances from the state and the life of channels from the logs, so the
// two can be held against each other.
func (c *Chain) Books() Books {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	now := c.latest()
	out := Books{Block: c.head().number, Balances: []Balance{}, Channels: []ChannelRow{}}
	for _, token := range c.tokenAddresses() {
		supply := now.get(cell{space: supplySpace, owner: token})
		out.Supplies = append(out.Supplies, Supply{token, &supply})
		out.Fees = append(out.Fees, Supply{token, new(uint256.Int)})
	}
	for at := range c.state.cells {
		if at.space != balanceSpace {
			continue
		}
		if amount := now.get(at); !amount.IsZero() {
			out.Balances = append(out.Balances, Balance{at.owner, common.BytesToAddress(at.key[:]), &amount})
		}
	}
	slices.SortFunc(out.Balances, func(a, b Balance) int {
		return cmp.Or(bytes.Compare(a.Token[:], b.Token[:]), bytes.Compare(a.Holder[:], b.Holder[:]))
	})
	rows := map[common.Hash]int{}
	for _, b := range c.blocks {
		for _, r := range b.receipts {
			for i, fee := range out.Fees {
				if fee.Token == r.feeToken {
					out.Fees[i].Amount.Add(fee.Amount, &r.fee)
				}
			}
			out.readLogs(r, rows)
		}
	}
	for i := range out.Channels {
		row := &out.Channels[i]
		state := unpackChannel(now.get(channelCell(row.ID)))
		row.Open = !state.deposit.IsZero()
		row.Settled, row.Deposit, row.CloseRequestedAt = &state.settled, &state.deposit, state.closeRequestedAt
	}
	return out
}

// readLogs follows the channels through the logs of one transaction.
func (b *Books) readLogs(r *receipt, rows map[common.Hash]int) {
	for _, l := range r.logs {
		if l.Address != Reserve {
			continue
		}
		id, data := l.Topics[1], &arguments{data: l.Data}
		if l.Topics[0] == openedEvent {
			d := Descriptor{Payer: common.BytesToAddress(l.Topics[2][:]), Payee: common.BytesToAddress(l.Topics[3][:])}
			d.Operator, d.Token, d.AuthorizedSigner = data.address(), data.address(), data.address()
			d.Salt, d.ExpiringNonceHash = data.word(), data.word()
			deposit := data.uint(96)
			rows[id] = len(b.Channels)
			b.Channels = append(
				b.Channels,
				ChannelRow{ID: id, Descriptor: d, Deposited: &deposit, Captured: new(uint256.Int), Refunded: new(uint256.Int)},
			)
			continue
		}
		row := &b.Channels[rows[id]]
		switch l.Topics[0] {
		case settledEvent:
			cumulative := data.uint(96)
			row.Captured = &cumulative
		case topUpEvent:
			more := data.uint(96)
			row.Deposited.Add(row.Deposited, &more)
		case closedEvent:
			captured, refunded := data.uint(96), data.uint(96)
			row.Captured, row.Refunded = &captured, &refunded
		}
	}
}

// Balance is what an account holds of a token at the head.
func (c *Chain) Balance(token, holder common.Address) *uint256.Int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	v := c.latest().get(balanceCell(token, holder))
	return &v
}
