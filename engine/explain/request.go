package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
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
var Models = []Model{
	{DefaultModel, 100},
	{"model-opus-4-8", 100},
	{"model-opus-4-7", 100},
	{"model-sonnet-4-6", 60},
	{"model-haiku-4-5-20251001", 20},
}

// ModelNames lists the allowed models, the default first.
func ModelNames() []string {
	names := make([]string, len(Models))
	for i, m := range Models {
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

// ParseRequest reads a JSON body. Unknown fields are ignored; a wrong type, a
// missing txHash, a duplicate key or invalid UTF-8 is a *BadRequest.
func ParseRequest(body []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(body, &r); err != nil {
		return Request{}, badBody(err)
	}
	return r, r.Validate()
}

func badBody(err error) error {
	var sem *json.SemanticError
	if errors.As(err, &sem) && sem.JSONPointer != "" {
		field := strings.TrimPrefix(string(sem.JSONPointer), "/")
		want := map[string]string{"txHash": "a string", "chainId": "a positive integer", "context": "a string", "model": "a string", "report": "a boolean"}[field]
		if want != "" {
			return &BadRequest{field, "must be " + want}
		}
	}
	if errors.As(err, &sem) {
		return &BadRequest{"", "the body must be a JSON object"}
	}
	return &BadRequest{"", "the body is not valid JSON: " + err.Error()}
}

// Validate checks all fields but whether the chain is supported.
func (r Request) Validate() error {
	switch {
	case r.TxHash == "":
		return errNoHash
	case !isHash(r.TxHash):
		return errBadHash
	case len(r.Context) > MaxContext:
		return &BadRequest{"context", fmt.Sprintf("is %d bytes long, at most %d are allowed", len(r.Context), MaxContext)}
	case r.Model != "" && !slices.Contains(ModelNames(), r.Model):
		return &BadRequest{"model", "is unknown; allowed are " + strings.Join(ModelNames(), ", ")}
	}
	return nil
}
