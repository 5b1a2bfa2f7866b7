package claim

import (
	"bytes"
	"regexp"
	"strings"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AddAnswer adds the answer of a tool: addresses, hashes, slots and integers that are
// values of their own. Of source code it adds short numbers outside of comments and
// strings. Other text is ignored, because its author could write any number.
func (ix *Index) AddAnswer(result any) {
	raw, err := json.Marshal(result, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil || len(raw) > maxObserved {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	ix.observe(dec, "", api.Addr{})
}

// AddAnswerTo is AddAnswer for an answer that may repeat its question. Values of the
// question are not added: otherwise a model could introduce any number by asking about it.
// A slot or account in the question still says what the rest of the answer is about.
//
// number is the number of the answer, by which references name it; 0 for an answer without
// facts.
func (ix *Index) AddAnswerTo(number int, result any, asked jsontext.Value) {
	ix.echo = map[string]bool{}
	dec := jsontext.NewDecoder(bytes.NewReader(asked), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for tok, err := dec.ReadToken(); err == nil; tok, err = dec.ReadToken() {
		if k := tok.Kind(); k == '"' || k == '0' {
			ix.echo[strings.ToLower(tok.String())] = true
		}
	}
	ix.AddAnswer(result)
	ix.keep(number, result)
	ix.echo = nil
}

// maxObserved bounds what is read of one answer. A model is shown far less.
const maxObserved = 4 << 20

// texts are the members of answers that strangers wrote.
var texts = members(
	`name symbol label labels text comment comments reason error message note notes uri url title description tokenname tokensymbol fromlabel tolabel
context claim why string params returns outline file amounts`,
)

// codes are the members of answers that hold source code.
var codes = members("source code lines body content")

func members(names string) map[string]bool {
	out := map[string]bool{}
	for _, n := range strings.Fields(names) {
		out[n] = true
	}
	return out
}

// observe adds one value. at is the account that the innermost enclosing object names.
func (ix *Index) observe(dec *jsontext.Decoder, member string, at api.Addr) {
	tok, err := dec.ReadToken()
	if err != nil {
		return
	}
	switch tok.Kind() {
	case '{':
		ix.object(dec, at)
	case '[':
		ix.list(dec, member, at)
	case '0':
		if !ix.echo[tok.String()] {
			ix.scalar(tok.String())
		}
	case '"':
		ix.string(member, tok.String(), at)
	}
}

// list adds the items of an array. Lines of code are read together, because a comment may
// span several.
func (ix *Index) list(dec *jsontext.Decoder, member string, at api.Addr) {
	n := 0
	var lines []string
	for ; dec.PeekKind() != ']' && dec.PeekKind() != 0; n++ {
		if codes[member] && dec.PeekKind() == '"' {
			tok, _ := dec.ReadToken()
			lines = append(lines, tok.String())
			continue
		}
		ix.observe(dec, member, at)
	}
	_, _ = dec.ReadToken()
	if len(lines) > 0 {
		ix.string(member, strings.Join(lines, "\n"), at)
	}
	if member == "entries" && n > 0 && at != (api.Addr{}) {
		ix.sources[at] = true // of its ABI
	}
}

func (ix *Index) object(dec *jsontext.Decoder, at api.Addr) {
	type pending struct{ member, value string }
	var later []pending
	isText := false
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		member := strings.ToLower(name.String())
		ix.key(name.String())
		if dec.PeekKind() != '"' {
			ix.observe(dec, member, at)
			continue
		}
		v, err := dec.ReadToken()
		if err != nil {
			return
		}
		s := v.String()
		if member == "type" && strings.HasPrefix(s, "string") {
			isText = true // an argument whose value is text
		}
		var a api.Addr
		if (member == "address" || member == "contract" || member == "account") && a.UnmarshalText([]byte(strings.ToLower(s))) == nil {
			at = a
		}
		later = append(later, pending{member, s})
	}
	_, _ = dec.ReadToken()
	for _, p := range later {
		if !isText || p.member != "value" {
			ix.string(p.member, p.value, at)
		}
	}
}

// key adds an object's key, which may be an address or a slot.
func (ix *Index) key(s string) {
	if strings.HasPrefix(s, "0x") && !ix.echo[strings.ToLower(s)] {
		ix.scalar(s)
	}
}

func (ix *Index) string(member, s string, at api.Addr) {
	switch {
	case texts[member]:
	case codes[member]:
		ix.code(s)
		if at != (api.Addr{}) && len(s) > 40 {
			ix.sources[at] = true
		}
	case member == "slot":
		if n, err := integerLiteral(s); err == nil {
			ix.words[common.BigToHash(n)] = true
			ix.readSlots[slotKey{at, common.BigToHash(n)}] = true
		}
	case ix.echo[strings.ToLower(s)]:
	case len(s) <= maxScalar || strings.HasPrefix(s, "0x"):
		ix.scalar(s)
	}
}

// maxScalar bounds a value that is not hex: 2^256 has 78 digits.
const maxScalar = 90

var (
	notCode = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?(\*/|$)|"(\\.|[^"\\\n])*"?|'(\\.|[^'\\\n])*'?|#[^\n]*`)
	inCode  = regexp.MustCompile(`[0-9a-zA-Z_$]+`)
)

// maxLiteral bounds the digits of a number in source code. An excerpt may begin inside of a
// comment, so that only short or round numbers are added: fees, tolerances, units. No
// address is that short.
const maxLiteral = 5

// code adds the numbers of source code.
func (ix *Index) code(s string) {
	if end := strings.Index(s, "*/"); end >= 0 && !strings.Contains(s[:end], "/*") {
		s = s[end+2:] // it began inside of a comment
	}
	s = notCode.ReplaceAllString(s, " ")
	for _, w := range inCode.FindAllString(s, 1<<14) {
		if w = strings.ReplaceAll(w, "_", ""); strings.Trim(w, "0123456789") == "" &&
			(len(strings.TrimRight(w, "0")) <= 1 || len(w) <= maxLiteral) {
			ix.scalar(w)
		}
	}
}
