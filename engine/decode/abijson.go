package decode

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"txlens/engine/decode/internal/signature"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of an ABI from outside.
const (
	maxABI        = 4 << 20
	maxEntries    = 5000
	maxComponents = 50_000 // inputs, outputs and components of the whole ABI
)

// Errors of ParseABI.
var (
	// ErrABITooLarge: the ABI is larger than any contract's.
	ErrABITooLarge = errors.New("ABI is too large")
	// ErrNoABI: the JSON is not an array of ABI entries, or none is usable.
	ErrNoABI = errors.New("JSON is not a contract ABI")
)

type abiEntry struct {
	Type, Name      string
	Inputs, Outputs []abiParam
	StateMutability string `json:"stateMutability"`
	Constant        bool
	Payable         bool
	Anonymous       bool
}

type abiParam struct {
	Type, Name string
	Indexed    bool
	Components []abiParam
}

// ParseABI parses the JSON of a contract's ABI, or of an artifact whose member abi contains
// it. Entries that no compiler would write are omitted one by one, so that one invalid
// entry does not cost the names of all others. An ABI without any valid entry is an error.
func ParseABI(text []byte) (*abi.ABI, error) {
	if len(text) > maxABI {
		return nil, ErrABITooLarge
	}
	entries, err := abiEntries(text)
	if err != nil {
		return nil, err
	}
	out := &abi.ABI{Methods: map[string]abi.Method{}, Events: map[string]abi.Event{}, Errors: map[string]abi.Error{}}
	left, used, names := maxComponents, 0, overloads{}
	for _, e := range entries {
		if addEntry(out, e, &left, names) {
			used++
		}
		if left < 0 {
			return nil, ErrABITooLarge
		}
	}
	if used == 0 && len(entries) > 0 {
		return nil, ErrNoABI
	}
	return out, nil
}

// abiEntries parses the entries one at a time, so that only malformed ones are omitted.
func abiEntries(text []byte) ([]abiEntry, error) {
	opts := []json.Options{json.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '{' {
		var artifact struct {
			ABI jsontext.Value `json:"abi"`
		}
		if err := json.Unmarshal(text, &artifact, opts...); err != nil {
			return nil, fmt.Errorf("read ABI: %w: %w", ErrNoABI, err)
		}
		text = artifact.ABI
	}
	var raw []jsontext.Value
	if err := json.Unmarshal(text, &raw, opts...); err != nil || raw == nil {
		return nil, fmt.Errorf("read ABI: %w", errors.Join(ErrNoABI, err))
	}
	if len(raw) > maxEntries {
		return nil, ErrABITooLarge
	}
	out := make([]abiEntry, 0, len(raw))
	for _, v := range raw {
		var e abiEntry
		if json.Unmarshal(v, &e, opts...) == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// overloads is, by kind and name, the next number to try. abi's own search starts at 0 each
// time: thousands of entries of one name would take seconds.
type overloads map[string]int

// resolve returns the key under which abi lists an overload: name, name0, name1, the first
// that is free.
func (o overloads) resolve(kind, name string, taken func(string) bool) string {
	key := name
	for taken(key) {
		n := o[kind+name]
		o[kind+name] = n + 1
		key = name + strconv.Itoa(n)
	}
	return key
}

// addEntry adds one entry and reports whether it was usable.
func addEntry(out *abi.ABI, e abiEntry, left *int, names overloads) (ok bool) {
	// abi builds Go types by reflection, which panics on types that no Go program
	// could hold; the checks of arguments refuse the known ones.
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	in, okIn := arguments(e.Inputs, left)
	res, okOut := arguments(e.Outputs, left)
	named := e.Type == "function" || e.Type == "event" || e.Type == "error" || e.Type == ""
	if !okIn || !okOut || named && !signature.Identifier(e.Name) {
		return false
	}
	switch e.Type {
	case "constructor":
		out.Constructor = abi.NewMethod("", "", abi.Constructor, e.StateMutability, e.Constant, e.Payable, in, nil)
	case "function", "": // the specification lets the type be left out
		name := names.resolve("function ", e.Name, func(s string) bool { _, taken := out.Methods[s]; return taken })
		out.Methods[name] = abi.NewMethod(name, e.Name, abi.Function, e.StateMutability, e.Constant, e.Payable, in, res)
	case "fallback":
		out.Fallback = abi.NewMethod("", "", abi.Fallback, e.StateMutability, e.Constant, e.Payable, nil, nil)
	case "receive":
		out.Receive = abi.NewMethod("", "", abi.Receive, e.StateMutability, e.Constant, e.Payable, nil, nil)
	case "event":
		name := names.resolve("event ", e.Name, func(s string) bool { _, taken := out.Events[s]; return taken })
		out.Events[name] = abi.NewEvent(name, e.Name, e.Anonymous, in)
	case "error":
		name := names.resolve("error ", e.Name, func(s string) bool { _, taken := out.Errors[s]; return taken })
		out.Errors[name] = abi.NewError(e.Name, in)
	default:
		return false
	}
	return true
}

func arguments(params []abiParam, left *int) (abi.Arguments, bool) {
	var out abi.Arguments
	for _, p := range params {
		m, ok := component(p, 0, left)
		if !ok {
			return nil, false
		}
		t, err := abi.NewType(m.Type, "", m.Components)
		if err != nil {
			return nil, false
		}
		out = append(out, abi.Argument{Name: safeName(p.Name), Type: t, Indexed: p.Indexed})
	}
	return out, true
}

// component checks one type and names unnamed fields of tuples, which the abi package
// rejects otherwise.
func component(p abiParam, depth int, left *int) (abi.ArgumentMarshaling, bool) {
	m := abi.ArgumentMarshaling{Name: safeName(p.Name), Type: p.Type}
	if *left--; *left < 0 || depth > signature.MaxDepth || len(p.Type) > 256 {
		return m, false
	}
	base, _, _ := strings.Cut(p.Type, "[")
	if base != "tuple" && len(p.Components) > 0 || base == "tuple" && len(p.Components) == 0 {
		return m, false
	}
	shape := "x(" + strings.Replace(p.Type, "tuple", "uint256", 1) + ")"
	if s, err := signature.Parse(signature.Func, shape); err != nil || len(s.Inputs) != 1 || s.Head > 1<<16 {
		return m, false
	}
	for i, c := range p.Components {
		sub, ok := component(c, depth+1, left)
		if !ok {
			return m, false
		}
		if strings.Trim(sub.Name, "_$0123456789") == "" {
			sub.Name = fmt.Sprintf("arg%d", i)
		}
		m.Components = append(m.Components, sub)
	}
	return m, true
}

// safeName returns a name if it is a valid identifier.
func safeName(s string) string {
	if !signature.Identifier(s) {
		return ""
	}
	return s
}
