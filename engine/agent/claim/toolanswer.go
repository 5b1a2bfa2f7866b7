package claim

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/classify"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// toolAnswer is what a tool has answered, for references to its members.
type toolAnswer struct {
	number int
	text   jsontext.Value
	echo   map[string]bool // what the question says itself
}

// maxAnswers bounds the answers that are kept, and maxKept the bytes of one.
const (
	maxAnswers = 256
	maxKept    = 256 << 10
)

// keep keeps an answer under its number.
func (ix *Index) keep(number int, result any) {
	if number == 0 || len(ix.answers) == maxAnswers {
		return
	}
	raw, err := json.Marshal(result, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err == nil && len(raw) <= maxKept {
		ix.answers = append(ix.answers, toolAnswer{number, raw, ix.echo})
	}
}

// toolFact renders a number or an address that stands in the answer of a tool, by the
// number of the call and the way to the member: {tool:3:rows.0.gasUsed}. Texts are not
// rendered: strangers wrote them. Nor is what the question said itself.
func (ix *Index) toolFact(args []string, w classify.Words) (fact, Reason) {
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return fact{}, Malformed
	}
	for _, a := range ix.answers {
		if a.number == number {
			value, ok := a.member(strings.Split(args[1], "."))
			if !ok || a.echo[strings.ToLower(value)] {
				return fact{}, Unresolved
			}
			return ix.scalarFact(value, w)
		}
	}
	return fact{}, Unresolved
}

// member is the scalar at the end of a way through objects and arrays.
func (a toolAnswer) member(way []string) (string, bool) {
	at := a.text
	for i, name := range way {
		switch at.Kind() {
		case '{':
			object, ok := a.object(at)
			if !ok || texts[strings.ToLower(name)] || codes[strings.ToLower(name)] || i == len(way)-1 && name == "value" && isText(object["type"]) {
				return "", false
			}
			at = object[name]
		case '[':
			var list []jsontext.Value
			n, err := strconv.Atoi(name)
			if json.Unmarshal(at, &list, lenient) != nil || err != nil || n < 0 || n >= len(list) {
				return "", false
			}
			at = list[n]
		default:
			return "", false
		}
	}
	switch at = bytes.TrimSpace(at); at.Kind() {
	case '0':
		return string(at), true
	case '"':
		var s string
		err := json.Unmarshal(at, &s, lenient)
		return s, err == nil
	}
	return "", false
}

var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

func (a toolAnswer) object(v jsontext.Value) (map[string]jsontext.Value, bool) {
	out := map[string]jsontext.Value{}
	err := json.Unmarshal(v, &out, lenient)
	return out, err == nil
}

// isText reports whether the type of an argument is text.
func isText(kind jsontext.Value) bool { return bytes.HasPrefix(kind, []byte(`"string`)) }

// scalarFact renders an address, or a number in decimal.
func (ix *Index) scalarFact(s string, w classify.Words) (fact, Reason) {
	var a api.Addr
	if len(s) == 42 && a.UnmarshalText([]byte(s)) == nil && ix.addresses[a] {
		return named(isName, w.Who(common.Address(a)))
	}
	whole, frac, dot := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if len(s) > maxScalar || !made(whole, digitRune) || dot && !made(frac, digitRune) {
		return fact{}, WrongUnit
	}
	n, _ := new(big.Int).SetString(whole+frac, 10)
	d := api.Decimal{Unscaled: n, Scale: len(frac)}
	text := api.Thousands(d.String())
	if s[0] == '-' && n.Sign() != 0 {
		text = "-" + text
	}
	return named(isFact, text)
}

func digitRune(r rune) bool { return r >= '0' && r <= '9' }
