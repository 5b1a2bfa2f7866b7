package llmhttp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"txlens/engine/agent/llm"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lax are the options for JSON that models and servers write: they repeat names and
// cut characters in two.
var lax = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Encode words a request. The same request gives the same bytes.
func Encode(v any) ([]byte, error) { return json.Marshal(v, lax) }

// Decode reads the data of an event. Unknown members are ignored.
func Decode(data []byte, v any) error { return json.Unmarshal(data, v, lax) }

// CheckTools returns an error if the schema of a tool is not an object of JSON.
func CheckTools(tools []llm.Tool) error {
	for _, t := range tools {
		if t.Schema.Kind() != '{' || !t.Schema.IsValid() {
			return fmt.Errorf("word tool %s: the schema is no object of JSON", t.Name)
		}
	}
	return nil
}

// Text is a member that should be a string. Servers write null for an absent one, and
// some write an object or an array of their own there; both read as the empty string.
type Text string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = ""
	if dec.PeekKind() != '"' {
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, (*string)(t))
}

// Count is a member that should be an integer. Some servers write 10.0 or "10"; what is
// no number at all reads as 0, and what exceeds int64 as the nearest one.
type Count int64

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (n *Count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*n = 0
	text := strings.Trim(string(v), `"`)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = Count(i)
		return nil
	}
	switch f, err := strconv.ParseFloat(text, 64); {
	case err != nil && math.IsInf(f, 0), err == nil && (f >= math.MaxInt64 || f <= math.MinInt64):
		*n = math.MaxInt64
		if f < 0 {
			*n = math.MinInt64
		}
	case err == nil && f == f:
		*n = Count(f)
	}
	return nil
}
