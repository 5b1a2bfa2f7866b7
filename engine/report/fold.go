package report

import "txlens/engine/api"

// fold makes one arrow of those in a row that say the same, or that move one NFT
// after the other of one contract between the same two.
func fold(all []arrow) []arrow {
	out := all[:0]
	for _, a := range all {
		a.times = 1
		if n := len(out); n > 0 && out[n-1].like(&a) {
			out[n-1].times++
			continue
		}
		out = append(out, a)
	}
	return out
}

func (a *arrow) like(b *arrow) bool {
	switch {
	case a.from != b.from || a.to != b.to || a.style != b.style:
		return false
	case a.move != nil && b.move != nil:
		return a.move.TokenAddress == b.move.TokenAddress && single(a.move) && single(b.move)
	case a.node != nil && b.node != nil:
		return a.node.Type == b.node.Type && a.node.Selector == b.node.Selector && a.node.FunctionName == b.node.FunctionName &&
			a.node.ValueWei == b.node.ValueWei && a.node.Error == b.node.Error
	}
	return false
}

// single reports whether a move is that of one NFT.
func single(t *api.TokenTransfer) bool {
	return t.TokenID != "" && (t.Total == "1" || t.Total == "")
}

// oneOf is how a move begins that made or destroyed what it moves.
func oneOf(a arrow) string {
	switch {
	case a.from == (api.Addr{}):
		return "mint "
	case a.to == (api.Addr{}):
		return "burn "
	}
	return ""
}
