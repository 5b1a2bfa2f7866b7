package claim

import (
	"strconv"
	"strings"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// exists reports whether a reference of a step, a risk or a check exists: tx,
// frame:0.2.1, log:61, an address, slot:ADDRESS:SLOT, a selector.
func (ix *Index) exists(ref string) bool {
	ref = strings.TrimPrefix(strings.Trim(ref, "{} "), "address:")
	if ref == "tx" {
		return true
	}
	name, rest, ok := strings.Cut(ref, ":")
	switch {
	case ok && name == "frame":
		return ix.frames[rest] != nil
	case ok && name == "log":
		n, is := logOf(ref)
		_, there := ix.logs[n]
		return is && there
	case ok && name == "slot":
		who, slot, _ := strings.Cut(rest, ":")
		a, why := ix.addressOf(who)
		return why == Accepted && ix.hasSlot(a, slot)
	case ok:
		return false
	case len(ref) == 10:
		return ix.selectors[strings.ToLower(ref)]
	}
	if ix.frames[ref] != nil {
		return true
	}
	_, why := ix.addressOf(ref)
	return why == Accepted
}

// logOf returns the index of the log that a reference names.
func logOf(ref string) (index uint64, ok bool) {
	rest, ok := strings.CutPrefix(ref, "log:")
	index, err := strconv.ParseUint(rest, 10, 63)
	return index, ok && err == nil
}

// anyExists reports whether at least one of the references exists.
func (ix *Index) anyExists(refs []string) bool {
	for _, r := range refs {
		if ix.exists(r) {
			return true
		}
	}
	return false
}

// hasSlot reports whether a slot of an account changed, or a tool read it.
func (ix *Index) hasSlot(a api.Addr, slot string) bool {
	n, err := integerLiteral(slot)
	if err != nil {
		return false
	}
	key := common.BigToHash(n)
	_, _, ok := ix.slot(a, key)
	return ok || ix.readSlots[slotKey{a, key}]
}

type slotKey struct {
	a    api.Addr
	slot common.Hash
}

// evidenceItem verifies an item of evidence; false when a reference does not exist, or when
// there is none.
func (ix *Index) evidenceItem(where string, e api.Evidence) (api.Evidence, bool) {
	claim := ix.say(e.Claim, mode{where: where, limit: maxText, full: true, bare: true})
	if claim.text == "" || claim.bad > 0 {
		return e, false
	}
	out := api.Evidence{Claim: claim.text, Kind: e.Kind, Source: "agent"}
	if e.Address != nil {
		if !ix.addresses[*e.Address] {
			return e, false
		}
		out.Address = e.Address
	}
	if !ix.called(e, &out) {
		return e, false
	}
	if e.LogIndex != nil {
		if _, ok := ix.logs[*e.LogIndex]; !ok {
			return e, false
		}
		out.LogIndex, out.Source = e.LogIndex, "receipt"
	}
	if !ix.stored(e, &out) {
		return e, false
	}
	if out.Frame == "" && out.LogIndex == nil && out.Slot == "" && out.Kind == api.Observed {
		out.Kind = api.Inferred // nothing was looked at that could be looked up
	}
	return out, out.Address != nil || out.Frame != "" || out.LogIndex != nil || out.Selector != ""
}

// called takes over selector and frame; false when one does not exist, or the frame calls
// another function.
func (ix *Index) called(e api.Evidence, out *api.Evidence) bool {
	if e.Selector != "" {
		if out.Selector = strings.ToLower(e.Selector); !ix.selectors[out.Selector] {
			return false
		}
	}
	if e.Frame != "" {
		n := ix.nodeAt[e.Frame]
		if n == nil || out.Selector != "" && n.Selector != out.Selector {
			return false
		}
		out.Frame, out.Source = e.Frame, "trace"
	}
	return true
}

// stored compares slot, before and after with the state diff.
func (ix *Index) stored(e api.Evidence, out *api.Evidence) bool {
	if e.Slot == "" {
		for _, s := range []string{e.Before, e.After} {
			if s != "" && !ix.isValue(s) {
				return false
			}
		}
		out.Before, out.After = e.Before, e.After
		return true
	}
	if e.Address == nil || !ix.hasSlot(*e.Address, e.Slot) {
		return false
	}
	n, _ := integerLiteral(e.Slot)
	key := common.BigToHash(n)
	out.Slot, out.Source = key.Hex(), "state"
	pre, post, changed := ix.slot(*e.Address, key)
	if !changed {
		return e.Before == "" && e.After == "" || ix.isValue(e.Before) && (e.After == "" || e.After == e.Before)
	}
	out.Before, out.After = pre.Hex(), post.Hex()
	return says(e.Before, pre) && says(e.After, post)
}

// says reports whether a claimed value is right or absent.
func says(said string, is common.Hash) bool {
	n, err := integerLiteral(said)
	return said == "" || err == nil && common.BigToHash(n) == is
}

// isValue reports whether a value exists in the evidence as an integer or as hex.
func (ix *Index) isValue(s string) bool {
	switch s = strings.ToLower(s); {
	case !strings.HasPrefix(s, "0x"):
	case len(s) == 42:
		_, err := ix.existing(s)
		return err == nil
	case len(s) == 66:
		return ix.words[common.HexToHash(s)] || common.HexToHash(s) == common.Hash{}
	}
	n, err := integerLiteral(s)
	return err == nil && ix.raws[n.String()]
}
