package api

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxContext bounds Request.Context in bytes.
const MaxContext = 2048

// Model is a language model that a request may ask for.
type Model struct {
	Name         string
	RelativeCost int // of its tokens, in percent of those of the default model
}

// DefaultModel is taken where Request.Model is empty.
const DefaultModel = "model-opus-5"

// Models are those whose names Request.Model may have.
func Models() []Model { return slices.Clone(models) }

var models = []Model{
	{DefaultModel, 100},
	{"model-opus-4-8", 100},
	{"model-opus-4-7", 100},
	{"model-sonnet-4-6", 60},
	{"model-haiku-4-5-20251001", 20},
}

// ModelNames lists the allowed models, the default first.
func ModelNames() []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	return names
}

// Request is the ExplainRequest of the interface.
type Request struct {
	TxHash  string `json:"txHash"`
	ChainID uint64 `json:"chainId,omitzero"` // 0: find the chain
	Context string `json:"context,omitempty"`
	Model   string `json:"model,omitempty"`
	Report  bool   `json:"report,omitzero"`
	View    View   `json:"view,omitempty"` // empty: the full view
	// CallbackURL is told when a job has ended; empty: nobody is.
	CallbackURL string `json:"callbackUrl,omitempty"`
	// Fresh asks for a new analysis where the same request was answered a short time ago.
	Fresh bool `json:"fresh,omitzero"`
}

// ModelOr is the model that a request gets where unnamed is the one in force for those
// that name none; where that is empty, too, it is DefaultModel.
func (r Request) ModelOr(unnamed string) string { return cmp.Or(r.Model, unnamed, DefaultModel) }

// BadRequest names the field of a request that is wrong, and how.
type BadRequest struct {
	Field  string // empty when the body as a whole is wrong
	Reason string
}

func (e *BadRequest) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// HashPattern is what a transaction hash must match.
const HashPattern = `^0x[0-9a-fA-F]{64}$`

// isHash reports whether s matches HashPattern.
func isHash(s string) bool {
	if len(s) != 66 || s[:2] != "0x" {
		return false
	}
	for i := 2; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// What most bad requests are is said without making anything.
var (
	errNoHash  = &BadRequest{"txHash", "is missing; it must be 0x and 64 hex digits"}
	errBadHash = &BadRequest{"txHash", "must be 0x and 64 hex digits"}
)

// members are those of Request as its JSON names them: how each is read, and what a
// wrong value is told.
var members = []struct {
	name, want string
	read       func(*requestReader, jsontext.Value) bool
}{
	{"txHash", "must be a string of 0x and 64 hex digits", func(r *requestReader, v jsontext.Value) bool { return readString(&r.TxHash, v) }},
	{"chainId", "must be a positive integer in plain digits, or the slug of a chain such as base-mainnet; leave it out to have the chain found", readChainID},
	{"context", "must be a string", func(r *requestReader, v jsontext.Value) bool { return readString(&r.Context, v) }},
	{
		"model",
		"must be the name of a model; leave it out for the default",
		func(r *requestReader, v jsontext.Value) bool { return readString(&r.Model, v) && r.Model != "" },
	},
	{"report", "must be a boolean, true or false", func(r *requestReader, v jsontext.Value) bool { return readBool(&r.Report, v) }},
	{"view", "must be one of " + strings.Join(ViewNames(), ", "), readView},
	{
		MemberCallback,
		"must be an address as a string; leave it out to be told nothing",
		func(r *requestReader, v jsontext.Value) bool {
			return readString(&r.CallbackURL, v) && r.CallbackURL != ""
		},
	},
	{MemberFresh, "must be a boolean, true or false", func(r *requestReader, v jsontext.Value) bool { return readBool(&r.Fresh, v) }},
}

// MemberCallback is the name of CallbackURL in JSON.
const MemberCallback = "callbackUrl"

// MemberFresh is the name of Fresh in JSON.
const MemberFresh = "fresh"

// MaxCallback bounds CallbackURL in bytes.
const MaxCallback = 2048

// MemberNames lists what a request may hold, the required one first.
func MemberNames() []string {
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].name
	}
	return names
}

func readString(to *string, v jsontext.Value) bool {
	return v.Kind() == '"' && json.Unmarshal(v, to) == nil
}

// readChainID takes plain digits: 1.0 and 1e0 are the same number to some readers of
// JSON and none at all to others. A string is the slug of a chain.
func readChainID(r *requestReader, v jsontext.Value) bool {
	if v.Kind() == '"' {
		var slug string
		known := r.bySlug != nil && readString(&slug, v)
		if known {
			r.ChainID, known = r.bySlug(slug)
		}
		return known
	}
	n, err := strconv.ParseUint(string(v), 10, 64)
	r.ChainID = n
	return err == nil && n > 0
}

func readBool(to *bool, v jsontext.Value) bool {
	*to = v.Kind() == 't'
	return *to || v.Kind() == 'f'
}

func readView(r *requestReader, v jsontext.Value) bool {
	var name string
	if !readString(&name, v) || name == "" {
		return false
	}
	view, err := ParseView(name)
	r.View = view
	return err == nil
}

// requestReader is a request while it is read.
type requestReader struct {
	Request
	bySlug func(slug string) (chainID uint64, ok bool) // nil: no slugs are known
}

// ParseRequest reads a JSON body. What is wrong with it is a *BadRequest that names
// the member: a wrong type, a missing txHash, a member that is not known or is given
// twice. The body itself must be one JSON object in valid UTF-8. chainId is a number, or
// one of the slugs that bySlug knows; nil: it knows none.
func ParseRequest(body []byte, bySlug func(slug string) (chainID uint64, ok bool)) (Request, error) {
	r := requestReader{bySlug: bySlug}
	body = bytes.TrimPrefix(body, []byte(ByteOrderMark))
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true)) // told here, by name
	if kind := dec.PeekKind(); kind != '{' {
		if err := dec.SkipValue(); err != nil {
			return Request{}, badJSON(dec, err)
		}
		return Request{}, &BadRequest{"", "the body must be a JSON object"}
	}
	if err := r.readMembers(dec); err != nil {
		return Request{}, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return Request{}, badJSON(dec, err)
	}
	return r.Request, r.Validate()
}

// readMembers reads the object. What is wrong with a member is told once the whole
// body is known to be JSON.
func (r *requestReader) readMembers(dec *jsontext.Decoder) error {
	var wrong error
	given := make([]bool, len(members))
	if _, err := dec.ReadToken(); err != nil {
		return badJSON(dec, err)
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return badJSON(dec, err)
		}
		name := tok.String()
		v, err := dec.ReadValue()
		if err != nil {
			return badJSON(dec, err)
		}
		if err := r.member(name, v, given); wrong == nil {
			wrong = err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return badJSON(dec, err)
	}
	return wrong
}

func (r *requestReader) member(name string, v jsontext.Value, given []bool) error {
	for i := range members {
		m := &members[i]
		switch {
		case m.name != name:
			continue
		case given[i]:
			return &BadRequest{name, "is given more than once; give it once"}
		}
		given[i] = true
		if !m.read(r, v) {
			return &BadRequest{name, m.want}
		}
		return nil
	}
	if name == "chain" {
		return &BadRequest{name, "is not known; name the chain in chainId, by its number or by its slug such as base-mainnet"}
	}
	return &BadRequest{cmp.Or(OneLine(name, 60), `""`), "is not known; leave it out, known are " + strings.Join(MemberNames(), ", ")}
}

// badJSON says where the body stops being JSON, and nothing of the decoder's own words.
func badJSON(dec *jsontext.Decoder, err error) error {
	at := dec.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntax.ByteOffset
	}
	return &BadRequest{"", fmt.Sprintf("the body is not valid JSON in UTF-8, at byte %d; send one JSON object", at)}
}

// Validate checks all fields but whether the chain is supported.
func (r Request) Validate() error {
	switch {
	case r.TxHash == "":
		return errNoHash
	case !isHash(r.TxHash):
		return errBadHash
	case len(r.Context) > MaxContext:
		return &BadRequest{"context", fmt.Sprintf("is %d bytes long, at most %d are allowed; shorten it", len(r.Context), MaxContext)}
	case len(r.CallbackURL) > MaxCallback:
		return &BadRequest{MemberCallback, fmt.Sprintf("is %d bytes long, at most %d are allowed", len(r.CallbackURL), MaxCallback)}
	case r.Model != "" && !slices.Contains(ModelNames(), r.Model):
		return &BadRequest{"model", "is unknown; leave it out for the default, or name one of " + strings.Join(ModelNames(), ", ")}
	}
	return nil
}
