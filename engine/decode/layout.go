package decode

import (
	"math/bits"

	"txlens/engine/decode/internal/signature"

	"github.com/ethereum/go-ethereum/common"
)

// A signature without declaration does not say which arguments are indexed. The
// number of topics says how many; where several choices read the same bytes,
// plausibility of the values decides (an address is not a small number, an amount
// is not an address), and a tie leaves the arguments unsaid.

// maxIndexedArgs bounds the arguments of an event whose indexed arguments are unknown.
const maxIndexedArgs = 12

// layout determines which arguments are indexed. It returns nil when no choice fits the
// bytes; certain is false when several fit equally well.
func (v *values) layout(s *signature.Signature, topics []common.Hash, data []byte) (best *signature.Signature, certain bool) {
	n, k := len(s.Inputs), len(topics)
	if k > n || k > 3 {
		return nil, false
	}
	if n > maxIndexedArgs {
		return s, false
	}
	score := -1
	for mask := range uint(1) << n {
		if bits.OnesCount(mask) != k {
			continue
		}
		t, bad, ok := v.try(s, mask, topics, data)
		switch {
		case !ok:
		case score < 0 || bad < score:
			best, score, certain = t, bad, true
		case bad == score:
			certain = false
		}
	}
	return best, certain
}

// try decodes a log with one choice and counts implausible values.
func (v *values) try(s *signature.Signature, mask uint, topics []common.Hash, data []byte) (*signature.Signature, int, bool) {
	t := *s
	t.Inputs = make([]signature.Param, len(s.Inputs))
	t.Head, t.Indexed = 0, len(topics)
	bad, next := 0, 0
	for i, p := range s.Inputs {
		p.Indexed = mask>>i&1 != 0
		t.Inputs[i] = p
		var w []byte
		switch {
		case p.Indexed:
			w = topics[next][:]
			next++
		case t.Head+32 <= len(data):
			w = data[t.Head : t.Head+32]
			fallthrough
		default:
			t.Head += p.Type.Head
		}
		if w != nil && implausible(p.Type, p.Indexed, w) {
			bad++
		}
	}
	_, _, ok := v.log(&t, topics, data, exact)
	return &t, bad, ok
}

// implausible reports whether a word is an unlikely value for its type: an address with few
// or random digits, a number as large as an address or a hash, a hash that is a small
// number or an address.
func implausible(t *signature.Type, indexed bool, w []byte) bool {
	lead := 0
	for lead < 32 && w[lead] == 0 {
		lead++
	}
	switch t.Kind {
	case signature.Address:
		return lead != 32 && lead > 20
	case signature.Uint:
		ones := w[0] == 0xff && w[1] == 0xff // an unlimited amount
		return t.Size > 128 && lead < 17 && !ones
	case signature.FixedBytes:
		return t.Size == 32 && lead >= 12
	case signature.Bytes, signature.String:
		return indexed && lead >= 12 // must be a hash
	}
	return false
}
