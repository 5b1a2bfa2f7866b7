package assemble

import (
	"fmt"
	"math/big"

	"txlens/engine/flow"
)

// unbacked describes transfer events that the state does not confirm.
func (b *builder) unbacked() (notes []string) {
	const most = 10
	for i := range b.flow.Checks {
		k := &b.flow.Checks[i]
		if k.Match == flow.LogsMatch {
			continue
		}
		if len(notes) == most {
			return append(notes, "more tokens have events that the state does not confirm")
		}
		symbol, decimals := b.coin(k.Token)
		name := "token " + k.Token.Hex()
		if symbol != "" {
			name = symbol + ", " + name
		}
		amount := func(n *big.Int) string {
			if decimals == nil {
				return n.String() + " units"
			}
			return flow.Amount(n, *decimals)
		}
		by := "in its balance slot"
		if k.ByCalls {
			by = "by what the token answered"
		}
		said := fmt.Sprintf("%s moved by %s %s, by %s in the logs", k.Holder.Hex(), amount(k.ByState), by, amount(k.ByLogs))
		switch k.Match {
		case flow.FakeEvent:
			notes = append(
				notes,
				fmt.Sprintf("%s: its transfer events are fake and not counted; no storage changed that could keep a balance", name),
			)
		case flow.FeeOnTransfer:
			notes = append(notes, fmt.Sprintf("%s: a fee on transfer that no log tells of: %s", name, said))
		case flow.Rebasing:
			notes = append(notes, fmt.Sprintf("%s: balances are kept in shares, as rebasing tokens do: %s", name, said))
		default:
			notes = append(notes, fmt.Sprintf("%s: logs and state disagree: %s", name, said))
		}
	}
	return notes
}
