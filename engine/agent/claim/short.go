package claim

import (
	"regexp"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// What is written short, 0x1234…abcd or 254845…0783, is looked up by its outer
// characters, for an answer may hold thousands of such.

// ends is how many characters of either end are the key.
const (
	headKey = 4 // 0x12
	tailKey = 2
)

// ends are the texts by their ends. It is made anew when something was added.
type ends struct {
	by   map[string][]string
	size int
}

func endsKey(head, tail string) string { return head[:headKey] + tail[len(tail)-tailKey:] }

func (e *ends) add(s string) {
	if len(s) > headKey+tailKey {
		key := endsKey(s, s)
		e.by[key] = append(e.by[key], s)
	}
}

// count is how many texts begin and end so; 0 when too little is said.
func (e *ends) count(head, tail string) (n int) {
	if len(head) < headKey || len(tail) < tailKey {
		return 0
	}
	for _, s := range e.by[endsKey(head, tail)] {
		if len(s) > len(head)+len(tail) && strings.HasPrefix(s, head) && strings.HasSuffix(s, tail) {
			n++
		}
	}
	return n
}

// shortHex counts the addresses and hashes that are written so for short.
func (ix *Index) shortHex(head, tail string) int {
	if size := len(ix.addresses) + len(ix.words); ix.hexEnds.by == nil || ix.hexEnds.size != size {
		ix.hexEnds = ends{map[string][]string{}, size}
		for a := range ix.addresses {
			ix.hexEnds.add(a.String())
		}
		for h := range ix.words {
			ix.hexEnds.add(h.Hex())
		}
	}
	return ix.hexEnds.count(head, tail)
}

// shortForm reports whether an address or a hash is written so. Less than three digits
// at either end would fit too many: then it must be the only one.
func (ix *Index) shortForm(head, tail string) bool {
	n := ix.shortHex(head, tail)
	return n == 1 || n > 1 && len(head) >= headKey+1 && len(tail) > tailKey
}

// gap reports whether an integer is written so: 254845…0783.
func (ix *Index) gap(s string) bool {
	head, tail, _ := cutGap(s)
	if ix.rawEnds.by == nil || ix.rawEnds.size != len(ix.raws) {
		ix.rawEnds = ends{map[string][]string{}, len(ix.raws)}
		for n := range ix.raws {
			ix.rawEnds.add(n)
		}
	}
	return ix.rawEnds.count(head, tail) > 0
}

var shortHexText = regexp.MustCompile(`0[xX]([0-9a-fA-F]+)(?:…|\.\.\.?)([0-9a-fA-F]+)`)

// inFull writes the addresses and hashes of a text in full that are short in it, and
// counts those that are short for several.
func (ix *Index) inFull(text string) (full string, ambiguous int) {
	full = shortHexText.ReplaceAllStringFunc(text, func(s string) string {
		head, tail, _ := cutGap(strings.ToLower(s))
		list := ix.withEnds(head, tail)
		if len(list) != 1 {
			ambiguous++
			return s
		}
		return list[0]
	})
	return full, ambiguous
}

// withEnds are the addresses that begin and end so, or where there is none, the hashes.
func (ix *Index) withEnds(head, tail string) (list []string) {
	ix.shortHex(head, tail) // fills the ends
	if len(head) < headKey || len(tail) < tailKey {
		return nil
	}
	var words []string
	for _, s := range ix.hexEnds.by[endsKey(head, tail)] {
		switch {
		case !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) || len(s) <= len(head)+len(tail):
		case len(s) == 2+2*common.AddressLength:
			list = append(list, s)
		default:
			words = append(words, s)
		}
	}
	if len(list) > 0 {
		return list
	}
	return words
}
