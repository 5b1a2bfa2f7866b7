package mcp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/view"
)

// schema is a JSON schema.
type schema = map[string]any

// object returns the schema of the arguments.
func object(required []string, properties schema) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func text(about string) schema { return schema{"type": "string", "description": about} }

func oneOf(about string, names []string) schema {
	return schema{"type": "string", "enum": names, "description": about}
}

// arguments are the arguments of one call.
type arguments map[string]json.RawMessage

// maxArguments limits the arguments of a call in bytes.
const maxArguments = 256 << 10

// readArguments parses an object and refuses members that are not in the schema.
func readArguments(doc json.RawMessage, s schema) (arguments, error) {
	if len(doc) > maxArguments {
		return nil, &badArgument{"arguments", fmt.Sprintf("have %d bytes; at most %d are allowed", len(doc), maxArguments)}
	}
	args := arguments{}
	if len(bytes.TrimSpace(doc)) > 0 {
		if err := json.Unmarshal(doc, &args); err != nil {
			return nil, &badArgument{"arguments", "must be a JSON object"}
		}
	}
	known := s["properties"].(schema)
	if err := args.rename(known); err != nil {
		return nil, err
	}
	for _, name := range sortedKeys(args) {
		if _, ok := known[name]; !ok {
			return nil, &badArgument{api.OneLine(name, 60), "is not known; known are " + strings.Join(sortedKeys(known), ", ")}
		}
	}
	required, _ := s["required"].([]string)
	for _, name := range required {
		if _, ok := args[name]; !ok {
			return nil, &badArgument{name, "is missing; give " + s["properties"].(schema)[name].(schema)["description"].(string)}
		}
	}
	return args, nil
}

// rename gives the argument for the chain its name of today.
func (a arguments) rename(known schema) error {
	old, given := a[oldChainID]
	if _, takes := known[chainID]; !given || !takes {
		return nil
	}
	if _, both := a[chainID]; both {
		return &badArgument{oldChainID, "is the former name of " + chainID + "; give " + chainID + " alone"}
	}
	delete(a, oldChainID)
	a[chainID] = old
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// text returns a string argument, empty if missing. A number is converted to its digits.
func (a arguments) text(name string) (string, error) {
	doc, ok := a[name]
	if !ok || string(doc) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(doc, &s) == nil {
		return strings.TrimSpace(s), nil
	}
	var n json.Number
	if json.Unmarshal(doc, &n) == nil {
		return n.String(), nil
	}
	return "", &badArgument{name, "must be a string"}
}

func (a arguments) flag(name string) (set bool, err error) {
	doc, ok := a[name]
	if ok && json.Unmarshal(doc, &set) != nil {
		return false, &badArgument{name, "must be true or false"}
	}
	return set, nil
}

// number returns an integer argument within the limits.
func (a arguments) number(name string, absent, least, most int) (int, error) {
	s, err := a.text(name)
	if err != nil || s == "" {
		return absent, err
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, &badArgument{name, fmt.Sprintf("must be an integer from %d to %d", least, most)}
	}
	return n, nil
}

// chain returns a slug or id, nil if missing.
func (a arguments) chain(name string) (*chain.Chain, error) {
	s, err := a.text(name)
	if err != nil || s == "" {
		return nil, err
	}
	if c, ok := chain.BySlug(strings.ToLower(s)); ok {
		return c, nil
	}
	if id, err := strconv.ParseUint(s, 10, 64); err == nil {
		if c, ok := chain.ByID(id); ok {
			return c, nil
		}
	}
	return nil, &badArgument{name, fmt.Sprintf("%q is no supported chain; give a numeric id such as 8453 or a slug such as base-mainnet; call list_chains for all", api.OneLine(s, 40))}
}

func (a arguments) view(absent api.View) (api.View, error) {
	s, err := a.text("view")
	if err != nil || s == "" {
		return absent, err
	}
	v, err := api.ParseView(s)
	if err != nil || v == api.ViewFull {
		return "", &badArgument{"view", "must be summary or standard; read the whole of a part with get_explanation"}
	}
	return v, nil
}

// transaction returns a transaction hash, given with or without 0x or as a URL of an explorer.
func (a arguments) transaction(name string) (ref chain.Reference, err error) {
	s, err := a.text(name)
	if err != nil {
		return ref, err
	}
	if ref, err = chain.ParseReference(s); err != nil {
		return ref, &badArgument{name, "must be a transaction hash of 64 hex digits, or the address of its page in a block explorer"}
	}
	return ref, nil
}

// bytes returns hex data, given with or without 0x.
func (a arguments) bytes(name string) ([]byte, error) {
	s, err := a.text(name)
	if err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil {
		return nil, &badArgument{name, "must be bytes in hex, such as 0xa9059cbb"}
	}
	return raw, nil
}

func (a arguments) address(name string) (addr common.Address, err error) {
	raw, err := a.bytes(name)
	if err != nil || len(raw) != common.AddressLength {
		return addr, &badArgument{name, "must be an address of 40 hex digits"}
	}
	return common.BytesToAddress(raw), nil
}

// Limits of the pages for a model.
const (
	defaultItems = 20
	maxItems     = 200
	maxPageBytes = 24 << 10
	maxDataBytes = 2048
)

func (a arguments) query() (q view.Query, err error) {
	q.MaxBytes = maxPageBytes
	if q.From, err = a.number("from", 0, 0, 1<<31-1); err != nil {
		return q, err
	}
	if q.Limit, err = a.number("limit", defaultItems, 1, maxItems); err != nil {
		return q, err
	}
	if q.Data, err = a.number("dataBytes", 68, 0, maxDataBytes); err != nil {
		return q, err
	}
	for _, f := range []struct {
		name string
		to   *string
	}{{"status", &q.Status}, {"address", &q.Address}, {"text", &q.Text}} {
		if *f.to, err = a.text(f.name); err == nil && len(*f.to) > 128 {
			err = &badArgument{f.name, "must have at most 128 bytes"}
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}
