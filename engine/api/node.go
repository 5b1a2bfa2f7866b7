package api

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Node is one line of the annotated call tree: a call frame, or a log (type LOG)
// placed where it was emitted. Nodes are in execution order, Index is their
// position, Depth the nesting. Lines of a failed frame say so in NodeStatus.
type Node struct {
	Index             int     `json:"index"`
	Depth             int     `json:"depth"`
	Type              string  `json:"type"` // CALL, STATICCALL, DELEGATECALL, CALLCODE, CREATE, CREATE2, SELFDESTRUCT, LOG
	From              Addr    `json:"from"`
	FromLabel         string  `json:"fromLabel"`
	To                *Addr   `json:"to"` // null on a failed creation
	ToLabel           string  `json:"toLabel"`
	Selector          string  `json:"selector"`
	FunctionName      string  `json:"functionName"`
	FunctionSignature string  `json:"functionSignature"`
	Input             Hex     `json:"input"`  // calldata; the data of a log
	Output            Hex     `json:"output"` // return data or revert data
	ValueWei          string  `json:"valueWei"`
	ValueEth          string  `json:"valueEth"`
	GasUsed           uint64  `json:"gasUsed"`
	EventSignature    *string `json:"eventSignature"`
	DecodedArgs       []Arg   `json:"decodedArgs"`

	// Members beyond the interface's table.
	// DecodedOutput is what a call returned, by name; empty where that is not known.
	DecodedOutput []Arg `json:"decodedOutput,omitempty"`

	Path       string     `json:"path"`                 // 0.2.1: the frame path; a log has its frame's path; empty below depth 128
	Status     NodeStatus `json:"status"`               // ok, failed, reverted; empty when the outcome is not known
	Error      string     `json:"error,omitempty"`      // why a failed frame failed, in words
	RevertedBy string     `json:"revertedBy,omitempty"` // path of the frame whose failure undid this one
	Provenance string     `json:"provenance,omitempty"` // where the name comes from
	LogIndex   *uint64    `json:"logIndex,omitempty"`   // of a LOG, as the receipt gives it
}

// NodeStatus is the outcome of one frame.
type NodeStatus string

const (
	NodeOK       NodeStatus = "ok"
	NodeFailed   NodeStatus = "failed"   // the frame itself failed
	NodeReverted NodeStatus = "reverted" // an ancestor failed: no effect
	// NodeUnknown is the placeholder of a partial result that neither receipt nor trace
	// tells the outcome of.
	NodeUnknown NodeStatus = ""
)

// Arg is one decoded argument. Value is a string (integers in decimal, bytes and
// addresses in 0x hex, text cleaned), a bool, a []any of such values for arrays,
// or a []Arg for tuples.
type Arg struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Value   any    `json:"value"`
	Indexed bool   `json:"indexed,omitzero"` // of an event argument
}

// UnmarshalJSONFrom reads an argument with the types that Value may have.
func (a *Arg) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var raw struct {
		Name    string         `json:"name"`
		Type    string         `json:"type"`
		Value   jsontext.Value `json:"value"`
		Indexed bool           `json:"indexed"`
	}
	err := json.UnmarshalDecode(dec, &raw)
	if err == nil {
		a.Name, a.Type, a.Indexed = raw.Name, raw.Type, raw.Indexed
		a.Value, err = argValue(raw.Value, maxArgDepth)
	}
	return err
}

// maxArgDepth bounds arrays and tuples within each other.
const maxArgDepth = 64

func argValue(v jsontext.Value, depth int) (any, error) {
	as := jsontext.AllowInvalidUTF8(true)
	switch v.Kind() {
	case '"':
		var s string
		err := json.Unmarshal(v, &s, as)
		return s, err
	case 't', 'f':
		return v.Kind() == 't', nil
	case 'n', 0:
		return nil, nil
	}
	var items []jsontext.Value
	if err := json.Unmarshal(v, &items, as); err != nil || depth == 0 {
		return nil, errors.Join(err, errArg)
	}
	if len(items) > 0 && items[0].Kind() == '{' {
		var tuple []Arg
		err := json.Unmarshal(v, &tuple, as)
		return tuple, err
	}
	list := make([]any, len(items))
	for i, item := range items {
		var err error
		if list[i], err = argValue(item, depth-1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

var errArg = errors.New("want a string, a boolean, or a list of arguments that is not too deep")
