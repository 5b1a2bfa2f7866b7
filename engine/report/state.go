package report

import (
	"math/big"
	"strings"

	"txlens/engine/api"
)

// maxPlaces bounds the table of places in storage.
const maxPlaces = 100

// placeRow is a place in the storage of a contract with what stood there.
type placeRow struct {
	At                  party
	Slot, Before, After string
}

// nativeRow is what an account has more or less of the native coin.
type nativeRow struct {
	At     party
	Amount string
	Gain   int
}

// places are those that the findings point to, each once.
func (n *names) places(r *api.Result) []placeRow {
	var rows []placeRow
	seen := map[placeRow]bool{}
	for i := range r.Findings {
		for j := range r.Findings[i].Evidence {
			e := &r.Findings[i].Evidence[j]
			if e.Slot == "" || e.Address == nil || len(rows) == maxPlaces {
				continue
			}
			row := placeRow{n.party(*e.Address), api.OneLine(e.Slot, 66), api.OneLine(e.Before, 80), api.OneLine(e.After, 80)}
			if !seen[row] {
				seen[row] = true
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// nativeChanges are the changes of the native coin, in the order of the result.
func (n *names) nativeChanges(r *api.Result, most int) []nativeRow {
	var rows []nativeRow
	for _, c := range r.BalanceChanges {
		for _, t := range c.Tokens {
			raw := integer(t.RawSignedAmount)
			if t.TokenAddress != (api.Addr{}) || t.TokenID != nil || raw == nil || raw.Sign() == 0 || len(rows) == most {
				continue
			}
			text := amount(api.Decimal{Unscaled: raw, Scale: 18}) + " " + n.native
			rows = append(rows, nativeRow{n.party(c.Address), signed(text), raw.Sign()})
		}
	}
	return rows
}

// stateGroup are the changes of one account.
type stateGroup struct {
	At   party
	Rows []stateRow
}

// stateRow is one change: what changed, how its name is known, and the values.
type stateRow struct {
	What          string
	Of            []party // whose value it is: a holder, or owner and spender
	Place         string
	Slot          string
	Before, After stateValue
	Difference    string
	Gain          int // sign of the difference; 0 where it is neither gain nor loss
}

// stateValue is a value as it is shown: an account, a number or a word.
type stateValue struct {
	Who  *party
	Text string
	Word bool // 32 bytes in hex
}

// state groups the changes by account, up to a bound, and counts what it leaves out.
func (n *names) state(r *api.Result, most int) (groups []stateGroup, more int) {
	for i := range head(r.StateChanges, most) {
		c := &r.StateChanges[i]
		if i == 0 || c.Address != r.StateChanges[i-1].Address {
			groups = append(groups, stateGroup{At: n.party(c.Address)})
		}
		g := &groups[len(groups)-1]
		g.Rows = append(g.Rows, n.stateRow(c))
	}
	more = max(len(r.StateChanges)-most, 0)
	if m := r.StateChangesMeta; m != nil {
		more += max(m.OriginalChanges-m.KeptChanges, 0)
	}
	return groups, more
}

func (n *names) stateRow(c *api.StateChange) stateRow {
	row := stateRow{What: api.OneLine(string(c.Kind), 40)}
	switch c.Kind {
	case api.StateBalance:
		row.Before, row.After = n.coins(c.Before), n.coins(c.After)
		row.Difference, row.Gain = n.rise(c.Difference, func(raw string) string { return n.coins(raw).Text })
	case api.StateNonce:
		row.Before, row.After = plainNumber(c.Before), plainNumber(c.After)
		row.Difference, _ = n.rise(c.Difference, func(raw string) string { return plainNumber(raw).Text })
	case api.StateCode:
		row.Before, row.After = n.code(c.Before), n.code(c.After)
	default:
		n.slotRow(&row, c)
	}
	return row
}

// slotRow fills in the change of a storage slot.
func (n *names) slotRow(row *stateRow, c *api.StateChange) {
	row.What, row.Slot = "slot", shortWord(c.Slot)
	value := n.word
	if name := c.Name; name != nil {
		row.What, row.Place = api.OneLine(name.Kind.String(), 40), api.OneLine(name.Place(), 260)
		for _, k := range head(name.Keys, 2) {
			if len(k) == 20 {
				row.Of = append(row.Of, n.party(api.Addr(k)))
			}
		}
		switch {
		case name.Kind.HoldsAddress():
			value = n.addressWord
		case name.Kind.HoldsTokens():
			value = func(raw string) stateValue { return n.tokenWord(c.Address, raw) }
			if _, known := n.units[c.Address]; known {
				row.Difference, row.Gain = n.rise(c.Difference, func(raw string) string { return n.inTokens(c.Address, raw) })
			} else {
				row.Difference, row.Gain = n.rise(c.Difference, func(raw string) string { return plainNumber(raw).Text })
			}
			if name.Kind != api.SlotBalance {
				row.Gain = 0
			}
		}
	}
	row.Before, row.After = value(c.Before), value(c.After)
}

// rise writes a signed difference with its sign.
func (n *names) rise(raw string, write func(string) string) (text string, sign int) {
	d := integer(raw)
	if d == nil || d.Sign() == 0 {
		return "", 0
	}
	if text = write(new(big.Int).Abs(d).String()); text == "" {
		return "", 0
	}
	if d.Sign() < 0 {
		return "-" + text, -1
	}
	return "+" + text, 1
}

// coins writes an amount of the native coin.
func (n *names) coins(wei string) stateValue {
	raw := integer(wei)
	if raw == nil {
		return stateValue{Text: api.OneLine(wei, 80)}
	}
	return stateValue{Text: amount(api.Decimal{Unscaled: raw, Scale: 18}) + " " + n.native}
}

func plainNumber(s string) stateValue { return stateValue{Text: api.OneLine(api.Thousands(s), 120)} }

// delegation begins the code of an account that EIP-7702 delegates.
const delegation = "0xef0100"

func (n *names) code(s string) stateValue {
	if target, ok := strings.CutPrefix(s, delegation); ok {
		if a, ok := hexAddress("0x" + target); ok {
			p := n.party(a)
			return stateValue{Who: &p, Text: "delegated to"}
		}
	}
	if s == "0x" {
		return stateValue{Text: "no code"}
	}
	return stateValue{Text: api.OneLine(s, 80), Word: true}
}

// hexAddress reads 0x and 40 hex digits.
func hexAddress(s string) (a api.Addr, ok bool) { return a, a.UnmarshalText([]byte(s)) == nil }

// word writes a slot: a number of up to 64 bits in decimal, anything else in hex.
func (n *names) word(s string) stateValue {
	if v := integer(s); v != nil && v.BitLen() <= 64 {
		return plainNumber(v.String())
	}
	return stateValue{Text: api.OneLine(s, 80), Word: true}
}

// addressWord writes the address in the lowest 20 bytes of a slot.
func (n *names) addressWord(s string) stateValue {
	v := integer(s)
	if v == nil || len(s) != 66 {
		return n.word(s)
	}
	a, _ := hexAddress("0x" + s[26:])
	p := n.party(a)
	return stateValue{Who: &p}
}

// tokenWord writes a slot that holds an amount of a token. A number that no token has may be
// packed with other data.
func (n *names) tokenWord(token api.Addr, s string) stateValue {
	v := integer(s)
	if v == nil || v.BitLen() > 128 && !unlimited(v) {
		return n.word(s)
	}
	if text := n.inTokens(token, v.String()); text != "" {
		return stateValue{Text: text}
	}
	return plainNumber(v.String())
}

// shortWord abbreviates the 32 bytes of a slot that is a hash.
func shortWord(slot api.Hex) string {
	if v := new(big.Int).SetBytes(slot); v.BitLen() <= 64 {
		return v.String()
	}
	s := slot.String()
	if len(s) < 20 {
		return s
	}
	return s[:10] + "…" + s[len(s)-8:]
}
