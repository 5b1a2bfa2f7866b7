package report

import (
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
