package claim

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/narrate"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// toolAnswer is the answer of a tool, for references to its members.
type toolAnswer struct {
	root answerNode
	echo map[string]bool // values that the question contained
}

// answerNode is a value of an answer: an object, an array, or a number or text.
type answerNode struct {
	members map[string]answerNode
	items   []answerNode
	scalar  string
}

// maxAnswers bounds the answers that are kept, and maxKept the bytes of one.
const (
	// maxAnswers bounds the number of answers kept, maxKept the bytes of one.
	maxAnswers = 256
	maxKept    = 256 << 10
)

var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// keep keeps an answer under its number.
func (ix *Index) keep(number int, result any) {
	if number == 0 || len(ix.answers) == maxAnswers {
		return
	}
	raw, err := json.Marshal(result, json.Deterministic(true), lenient)
	if err == nil && len(raw) <= maxKept {
		ix.answers[number] = toolAnswer{readAnswer(jsontext.NewDecoder(bytes.NewReader(raw), lenient)), ix.echo}
	}
}

// readAnswer reads one value. Objects and arrays are nested as deep as jsontext allows.
func readAnswer(dec *jsontext.Decoder) (n answerNode) {
	tok, err := dec.ReadToken()
	if err != nil {
		return n
	}
	switch tok.Kind() {
	case '{':
		n.members = map[string]answerNode{}
		for dec.PeekKind() == '"' {
			name, _ := dec.ReadToken()
			member := name.String()
			n.members[member] = readAnswer(dec)
		}
		_, _ = dec.ReadToken()
	case '[':
		for k := dec.PeekKind(); k != ']' && k != 0; k = dec.PeekKind() {
			n.items = append(n.items, readAnswer(dec))
		}
		_, _ = dec.ReadToken()
	case '0', '"':
		n.scalar = tok.String()
	}
	return n
}

// member returns the scalar at a path through objects and arrays; empty when there is none,
// or when a stranger wrote it.
func (n answerNode) member(way []string) string {
	for _, name := range way {
		if n.members == nil {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.items) {
				return ""
			}
			n = n.items[i]
			continue
		}
		small := strings.ToLower(name)
		if texts[small] || codes[small] || small == "value" && strings.HasPrefix(n.members["type"].scalar, "string") {
			return ""
		}
		n = n.members[name]
	}
	return n.scalar
}

// toolFact renders a number or an address of a tool's answer, by the number of the answer
// and the path of the member: {tool:3:rows.0.gasUsed}. Texts are not rendered, because
// strangers wrote them. Values that the question contained are not rendered either.
func (ix *Index) toolFact(args []string, w narrate.Words) (fact, Reason) {
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return fact{}, Malformed
	}
	a := ix.answers[number]
	value := a.root.member(strings.Split(args[1], "."))
	if value == "" || a.echo[strings.ToLower(value)] {
		return fact{}, Unresolved
	}
	return ix.scalarFact(value, w)
}

// scalarFact renders an address, or a number in decimal.
func (ix *Index) scalarFact(s string, w narrate.Words) (fact, Reason) {
	var a api.Addr
	if len(s) == 42 && a.UnmarshalText([]byte(s)) == nil && ix.addresses[a] {
		return named(isName, w.Who(common.Address(a)))
	}
	whole, frac, dot := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if len(s) > maxScalar || !consistsOf(whole, digitRune) || dot && !consistsOf(frac, digitRune) {
		return fact{}, WrongUnit
	}
	n, _ := new(big.Int).SetString(whole+frac, 10)
	if s[0] == '-' {
		n.Neg(n)
	}
	return named(isFact, api.Thousands(api.Decimal{Unscaled: n, Scale: len(frac)}.String()))
}

func digitRune(r rune) bool { return r >= '0' && r <= '9' }
