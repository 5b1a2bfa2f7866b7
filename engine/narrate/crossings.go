package narrate

import (
	"fmt"
	"math/big"
	"strconv"
	"txlens/engine/chain"
	"txlens/engine/facts"
	"txlens/engine/protocol"
)

// numbering is how a bridge numbers chains.
type numbering map[uint64]uint64

// Chains by the numbers that messengers give them, as they publish them.
var (
	layerZeroChains = numbering{
		101: 1,
		102: 56,
		106: 43114,
		109: 137,
		110: 42161,
		111: 10,
		145: 100,
		158: 1101,
		165: 324,
		183: 59144,
		184: 8453,
		214: 534352,
		175: 42170,
		125: 42220,
		181: 5000,
		243: 81457,
	}
	cctpChains     = numbering{0: 1, 1: 43114, 2: 10, 3: 42161, 6: 8453, 7: 137, 10: 130, 11: 59144, 13: 146, 14: 480}
	wormholeChains = numbering{2: 1, 4: 56, 5: 137, 6: 43114, 14: 42220, 23: 42161, 24: 10, 30: 8453}
)

// chainNamed names a chain by the number that a bridge gives it; what the bridge's own
// numbering does not tell stays a number.
func chainNamed(slug string, n *big.Int) string {
	if !n.IsUint64() {
		return ""
	}
	id := n.Uint64()
	switch slug {
	case "layerzero", "stargate":
		id = layerZeroChains[id%30000]
	case "cctp":
		known := false
		if id, known = cctpChains[id]; !known {
			id = 0
		}
	case "wormhole":
		if n.Uint64() == 1 {
			return "Solana"
		}
		id = wormholeChains[id]
	case "across", "hop", "lifi", "relay", "op_stack_bridge":
	default:
		return ""
	}
	if c, ok := chain.ByID(id); ok {
		return c.Name
	}
	if id == 0 {
		return "chain " + n.String() + " by its own numbers"
	}
	return "chain " + strconv.FormatUint(id, 10)
}

// crossingSteps tell where assets or messages go to or come from, and by which key the
// other half of the crossing is found there.
func (a *stepWriter) crossingSteps() (steps []step) {
	said := map[string]bool{}
	for i := range a.Matches {
		h := &a.Matches[i]
		s := a.sayCrossing(h)
		if s == "" || said[s] || h.Weak && !h.Mine || len(steps) == maxHops {
			continue
		}
		said[s] = true
		steps = append(steps, step{at: 2*h.Log + 2, about: Detail{Kind: "crossing"}, text: func() string { return s + "." }})
	}
	return steps
}

func (a *stepWriter) sayCrossing(h *facts.Match) string {
	out := h.Act == facts.ActBridgeOut || h.Act == facts.ActMessageOut
	if !out && h.Act != facts.ActBridgeIn && h.Act != facts.ActMessageIn && h.Act != facts.ActBridgeProv || h.Rule == nil {
		return ""
	}
	l := a.EventOf(h)
	key := ""
	if n := h.Rule.Number(l, "join_key"); n != nil && n.Sign() > 0 {
		if key = n.String(); len(key) > 20 {
			key = fmt.Sprintf("%#066x", n)
		}
	}
	place := ""
	for _, role := range []string{"destination_chain", "source_chain"} {
		if n := h.Rule.Number(l, role); n != nil && out == (role == "destination_chain") {
			place = chainNamed(h.Slug, n)
		}
	}
	if place == "" {
		place = a.OtherEnd(h.Slug)
	}
	switch {
	case place == "" && key == "":
		return ""
	case out:
		return crossing("The crossing goes", " to ", place, h.Slug, key)
	}
	return crossing("The crossing came", " from ", place, h.Slug, key)
}

func crossing(s, prep, place, slug, key string) string {
	if place != "" {
		s += prep + place
	}
	if slug != "" {
		s += " over " + protocol.NameOf(slug)
	}
	if key != "" {
		s += ", with the key " + key
	}
	return s
}
