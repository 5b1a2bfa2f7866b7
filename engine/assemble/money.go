package assemble

import (
	"fmt"
	"math"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// usdScale is the number of decimals of a USD value: a millionth of a dollar.
const usdScale = 6

// transfers writes tokenTransfers in log order.
func (b *builder) transfers() {
	index := func(pos int) uint64 { // without logs, the place in the order
		if pos < len(b.receipt.Logs) {
			return b.receipt.Logs[pos].Index
		}
		return uint64(pos)
	}
	b.r.TokenTransfers = make([]api.TokenTransfer, 0, len(b.flow.Transfers))
	for i := range b.flow.Transfers {
		t := &b.flow.Transfers[i]
		if t.Wrap || t.Log == flow.NoLog {
			continue // no Transfer event: it shows in balanceChanges
		}
		tok := b.token(t.Token)
		out := api.TokenTransfer{
			Type: string(t.Standard), From: api.AddrOf(t.From), To: api.AddrOf(t.To),
			TokenName: tok.Name, TokenSymbol: tok.Symbol, TokenAddress: api.AddrOf(t.Token),
			Total: t.Amount.String(), LogIndex: index(t.Log),
		}
		if tok.Decimals != nil {
			out.Decimals = itoa(int(*tok.Decimals))
		}
		out.TokenID = t.Key().ID
		b.r.TokenTransfers = append(b.r.TokenTransfers, out)
	}
}

// changes writes balanceChanges: the sender first, fee recipients last. Without a receipt
// there are none, because nothing confirms that anything moved, and the fee is unknown.
func (b *builder) changes() {
	if b.ev.Receipt == nil {
		return
	}
	for _, c := range b.flow.Changes {
		out := api.BalanceChange{
			Address: api.AddrOf(c.Address), Label: b.label(c.Address), Role: b.role(c.Address), IsSender: c.Address == b.ev.Tx.From,
			Tokens: make([]api.TokenChange, 0, len(c.Deltas)),
		}
		total, priced := new(api.Decimal), true
		for i := range c.Deltas {
			tc := b.tokenChange(&c.Deltas[i])
			if tc.ValueUSD == nil {
				priced = false
			} else {
				sum := flow.Sum(*total, *tc.ValueUSD)
				total = &sum
			}
			out.Tokens = append(out.Tokens, tc)
		}
		if priced {
			out.TotalUSD = total
		}
		b.r.BalanceChanges = append(b.r.BalanceChanges, out)
	}
}

func (b *builder) tokenChange(d *flow.Delta) api.TokenChange {
	out := api.TokenChange{
		TokenAddress: api.AddrOf(d.Key.Token), RawSignedAmount: d.Amount.String(), Balance: d.Amount.String(), IsNFT: d.Key.NFT,
	}
	if d.Key.ID != "" {
		id := d.Key.ID
		out.TokenID = &id
	}
	symbol, decimals := b.coin(d.Key.Token)
	out.TokenSymbol = symbol
	if decimals == nil || d.Key.NFT {
		return out
	}
	out.Balance = flow.Amount(d.Amount, *decimals)
	if d.Key.ID != "" {
		return out
	}
	if usd, ok := b.price(d.Key.Token, d.Amount); ok {
		value := flow.Value(d.Amount, *decimals, usd).Round(usdScale)
		out.PriceUSD, out.ValueUSD = &usd, &value
	}
	return out
}

// coin returns symbol and decimals; the zero address is the native coin.
func (b *builder) coin(token common.Address) (string, *uint8) {
	if token == (common.Address{}) {
		d := uint8(b.ev.Chain.Native.Decimals)
		return b.nativeSymbol(), &d
	}
	t := b.token(token)
	return t.Symbol, t.Decimals
}

// token returns what is known about a token, from the evidence or else from the embedded
// lists, with the decimals that follow from a rule.
func (b *builder) token(a common.Address) label.Token {
	t, ok := b.ev.Tokens[a]
	if !ok {
		t, _ = label.LookupToken(b.ev.Chain.ID, a)
	}
	if t.Decimals == nil && b.facts != nil {
		if d, ok := b.facts.Decimals(a); ok && d >= 0 && d <= math.MaxUint8 {
			byRule := uint8(d)
			t.Decimals = &byRule
		}
	}
	if t.Lookalike != "" {
		t.Symbol, t.Name = t.Imitation(), t.Imitation()
	}
	return t
}

// nativeSymbol is the coin's symbol at that time: MATIC before POL.
func (b *builder) nativeSymbol() string {
	if b.ev.Block == nil {
		return b.ev.Chain.Native.Symbol
	}
	return b.ev.Chain.NativeAt(b.ev.Block.Timestamp).Symbol
}

// primaryUSD values the actor's own net movements that the rules named; nil if one of them
// has no price, because a partial sum would be taken for the total.
func (b *builder) primaryUSD() *api.Decimal {
	d := b.verdict_.Primary
	if d == nil {
		return nil
	}
	v := b.tokenChange(&flow.Delta{Key: d.Key, Amount: new(big.Int).Abs(d.Amount)}).ValueUSD
	for _, d := range b.verdict_.Besides {
		more := b.tokenChange(&flow.Delta{Key: d.Key, Amount: new(big.Int).Abs(d.Amount)}).ValueUSD
		if v == nil || more == nil {
			return nil
		}
		sum := flow.Sum(*v, *more)
		v = &sum
	}
	return v
}

// bonuses states how much more the collateral of a liquidation was worth than the repaid
// debt, if both have a price at the block.
func (b *builder) bonuses() (steps []string) {
	for i := range b.verdict_.Seizures {
		x := &b.verdict_.Seizures[i]
		if x.Debt == nil || x.Collateral == nil || len(steps) == 4 {
			continue
		}
		paid, took := b.tokenChange(x.Debt).ValueUSD, b.tokenChange(x.Collateral).ValueUSD
		if paid == nil || took == nil || paid.Unscaled.Sign() <= 0 || paid.Scale != took.Scale {
			continue
		}
		// in hundredths of a per cent, rounded down
		n := new(big.Int).Sub(took.Unscaled, paid.Unscaled)
		n.Quo(n.Mul(n, big.NewInt(10_000)), paid.Unscaled)
		if n.Sign() <= 0 {
			continue
		}
		steps = append(
			steps,
			fmt.Sprintf(
				"At the prices of the block the collateral taken was worth %s USD, %d.%02d %% more than the %s USD of debt repaid: the liquidator's bonus.",
				took,
				new(big.Int).Quo(n, big.NewInt(100)),
				new(big.Int).Rem(n, big.NewInt(100)),
				paid,
			),
		)
	}
	return steps
}

// fee writes who paid what to whom.
func (b *builder) fee() {
	f := b.flow.Fee
	if f == nil {
		return
	}
	out := &api.Fee{
		Payer: api.AddrOf(f.Payer), TotalWei: f.Total.String(), ExecutionWei: f.Execution.String(),
		L1Wei: weiOrEmpty(
			f.L1,
		), OperatorWei: weiOrEmpty(f.Operator), BlobWei: weiOrEmpty(f.Blob), BurntWei: f.Burnt.String(), UnassignedWei: weiOrEmpty(f.Unassigned),
		Recipients: make([]api.FeeRecipient, 0, len(f.Shares)),
	}
	if f.Rest.Amount != nil {
		out.SenderWei = f.Rest.Amount.String()
	}
	for _, s := range f.Shares {
		out.Recipients = append(out.Recipients, api.FeeRecipient{Address: api.AddrOf(s.Address), Role: s.Role, Wei: s.Amount.String()})
	}
	if usd, ok := b.price(common.Address{}, f.Total); ok {
		v := flow.Value(f.Total, uint8(b.ev.Chain.Native.Decimals), usd).Round(usdScale)
		out.TotalUSD = &v
	}
	b.r.Fee = out
}

func weiOrEmpty(n *big.Int) string {
	if n == nil || n.Sign() == 0 {
		return ""
	}
	return n.String()
}
