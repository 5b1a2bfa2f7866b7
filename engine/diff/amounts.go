package diff

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/api"
)

// Amount is the net change of one token at one account. Amounts are in whole tokens where
// the decimals are known. The senders of the two transactions are one account.
type Amount struct {
	Account    string   `json:"account"` // address, or sender
	Label      string   `json:"label"`
	Token      api.Addr `json:"token"` // the zero address is the native coin
	Symbol     string   `json:"symbol"`
	TokenID    *string  `json:"tokenId"`
	A          string   `json:"a"` // 0: no change
	B          string   `json:"b"`
	Difference *string  `json:"difference"` // B less A; null where an amount is no number
}

// senderAccount stands for the sender of each side.
const senderAccount = "sender"

// holding is what an amount is of.
type holding struct {
	account string
	token   api.Addr
	id      string
}

// amountsOf lists the net changes that differ: those of the sender first, then by account
// and token.
func amountsOf(a, b *api.Result) (list []Amount, more int) {
	found := map[holding]*Amount{}
	gather(found, a, func(m *Amount) *string { return &m.A })
	gather(found, b, func(m *Amount) *string { return &m.B })
	list = []Amount{}
	for _, m := range found {
		m.A, m.B = cmp.Or(m.A, "0"), cmp.Or(m.B, "0")
		if m.A != m.B {
			m.Difference = difference(&m.A, &m.B)
			list = append(list, *m)
		}
	}
	slices.SortFunc(list, func(x, y Amount) int {
		return cmp.Or(compareFirst(x.Account == senderAccount, y.Account == senderAccount), strings.Compare(x.Account, y.Account),
			slices.Compare(x.Token[:], y.Token[:]), strings.Compare(idOf(x.TokenID), idOf(y.TokenID)))
	})
	return cut(list, maxAmounts)
}

func compareFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// gather adds the net changes of one side.
func gather(found map[holding]*Amount, r *api.Result, side func(*Amount) *string) {
	for i := range r.BalanceChanges {
		c := &r.BalanceChanges[i]
		account := c.Address.String()
		if c.IsSender {
			account = senderAccount
		}
		for _, t := range c.Tokens {
			key := holding{account, t.TokenAddress, idOf(t.TokenID)}
			m := found[key]
			if m == nil {
				m = &Amount{
					Account: account, Label: api.OneLine(c.Label, maxText),
					Token: t.TokenAddress, Symbol: api.OneLine(t.TokenSymbol, 24), TokenID: t.TokenID,
				}
				found[key] = m
			}
			*side(m) = api.OneLine(t.Balance, maxText)
		}
	}
}

func idOf(id *string) string {
	if id == nil {
		return ""
	}
	return *id
}

// sumsOf compares totals: the value in dollars, the coin sent, the fee and the gas.
func sumsOf(a, b *api.Result) []Sum {
	out := []Sum{}
	add := func(name, unit string, x, y *string) {
		if !equal(x, y) {
			out = append(out, Sum{name, unit, x, y, difference(x, y)})
		}
	}
	add("value", "USD", decimalOf(a.USDValue), decimalOf(b.USDValue))
	add("sent", "wei", quantity(a.TxMeta.ValueWei), quantity(b.TxMeta.ValueWei))
	add("fee", "wei", feeOf(a), feeOf(b))
	add("gasUsed", "gas", gasOf(a), gasOf(b))
	add("gasPrice", "wei", quantity(a.TxMeta.GasPrice), quantity(b.TxMeta.GasPrice))
	return out
}

func decimalOf(d *api.Decimal) *string {
	if d == nil {
		return nil
	}
	return known(d.String())
}

func feeOf(r *api.Result) *string {
	if r.Fee == nil {
		return nil
	}
	return known(r.Fee.TotalWei)
}

// gasOf is the gas used; a transaction uses some, so none means that it is not known.
func gasOf(r *api.Result) *string {
	if r.TxMeta.GasUsed == 0 {
		return nil
	}
	return known(strconv.FormatUint(r.TxMeta.GasUsed, 10))
}

// maxDigits bounds the numbers that are read.
const maxDigits = 160

// quantity is a 0x hex quantity in decimal digits.
func quantity(hex string) *string {
	digits, ok := strings.CutPrefix(hex, "0x")
	if !ok || len(digits) > maxDigits {
		return nil
	}
	n, ok := new(big.Int).SetString(digits, 16)
	if !ok || n.Sign() < 0 {
		return nil
	}
	return known(n.String())
}

// difference is y less x.
func difference(x, y *string) *string {
	if x == nil || y == nil {
		return nil
	}
	from, ok := decimal(*x)
	to, also := decimal(*y)
	if !ok || !also {
		return nil
	}
	scale := max(from.Scale, to.Scale)
	n := new(big.Int).Sub(raised(to, scale), raised(from, scale))
	return known(api.Decimal{Unscaled: n, Scale: scale}.String())
}

// raised is the unscaled number at a larger scale.
func raised(d api.Decimal, scale int) *big.Int {
	return new(big.Int).Mul(d.Unscaled, api.PowerOfTen(scale-d.Scale))
}

// decimal reads a signed decimal number.
func decimal(s string) (api.Decimal, bool) {
	digits := strings.TrimPrefix(s, "-")
	whole, frac, dotted := strings.Cut(digits, ".")
	if len(s) > maxDigits || whole == "" || dotted && frac == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return api.Decimal{}, false
	}
	n, ok := new(big.Int).SetString(whole+frac, 10)
	if ok && digits != s {
		n.Neg(n)
	}
	return api.Decimal{Unscaled: n, Scale: len(frac)}, ok
}
