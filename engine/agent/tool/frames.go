package tool

import (
	"context"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// FrameView is one call with all details.
type FrameView struct {
	FrameRow
	NodeIndex  int          `json:"nodeIndex"` // key of traceAnnotations
	From       Party        `json:"from"`
	GasLimit   uint64       `json:"gasLimit"`
	Signature  string       `json:"signature,omitempty"`
	NameSource string       `json:"nameSource,omitempty"`
	Args       []api.Arg    `json:"args,omitempty"`
	Outputs    []api.Arg    `json:"outputs,omitempty"`
	InputSize  int          `json:"inputBytes"`
	Output     api.Hex      `json:"output,omitempty"` // the first bytes
	OutputSize int          `json:"outputBytes"`
	Failure    *FailureView `json:"failure,omitempty"`
	Logs       []LogRow     `json:"logs,omitempty"` // the frame's own logs that took effect, at most 20
	Missing    []string     `json:"missing,omitempty"`
}

// FailureView is why a frame failed.
type FailureView struct {
	Words string    `json:"words"`
	Error string    `json:"error,omitempty"` // name of the error
	Args  []api.Arg `json:"args,omitempty"`
}

// FrameRow is one call in a list.
type FrameRow struct {
	Frame      string         `json:"frame"`
	Type       string         `json:"type"`
	To         *Party         `json:"to,omitempty"` // absent on a creation that failed
	Selector   string         `json:"selector,omitempty"`
	Function   string         `json:"function,omitempty"`
	ValueWei   string         `json:"valueWei,omitempty"`
	GasUsed    uint64         `json:"gasUsed"`
	Status     api.NodeStatus `json:"status"`
	Error      string         `json:"error,omitempty"`
	RevertedBy string         `json:"revertedBy,omitempty"`
	Calls      int            `json:"calls,omitzero"` // made by it directly
	LogCount   int            `json:"logCount,omitzero"`
	LeftOut    int            `json:"leftOut,omitzero"` // number of frames below that were omitted because they repeat others
}

const (
	headBytes     = 256 // of output shown with a frame
	maxFrameLogs  = 20
	defaultRows   = 40
	defaultLevels = 3
)

type frameInput struct {
	Frame Path `json:"frame" need:"" doc:"path of the call: 0 is the root"`
}

var getFrame = define(
	"get_frame",
	"One call of the trace in full: callee, function, arguments, return values, value, gas, outcome, why it failed, logs of its own.",
	limitLocal,
	func(_ context.Context, d *Env, in *frameInput) (any, error) {
		f, err := d.frame(in.Frame)
		if err != nil {
			return nil, err
		}
		v := FrameView{
			FrameRow: d.row(
				f,
			), NodeIndex: f.node.Index, From: d.party(f.From), GasLimit: f.Gas, Signature: f.node.FunctionSignature, NameSource: f.node.Provenance,
			Args: shortArgs(
				f.node.DecodedArgs,
			), InputSize: len(f.Input), Output: f.Output[:min(len(f.Output), headBytes)], OutputSize: len(f.Output),
		}
		if c := d.Case.Decoded.Calls[f.Index]; c != nil {
			v.Outputs = shortArgs(c.Outputs)
		}
		v.Failure = d.failure(f.Frame)
		for i := range f.Logs {
			if l := &f.Logs[i]; l.Receipt >= 0 && len(v.Logs) < maxFrameLogs {
				v.Logs = append(v.Logs, d.logRow(l.Receipt, f.node.Path))
			}
		}
		v.Missing = d.traceGaps(f.Frame)
		return v, nil
	},
)

func (d *Env) failure(f *trace.Frame) *FailureView {
	if f.Err == "" {
		return nil
	}
	v := &FailureView{Words: decode.Explain(f.Err)}
	if e := d.Case.Decoded.Failures[f.Index]; e != nil {
		v.Error, v.Args = e.Name, shortArgs(e.Args)
		if e.Text != "" {
			v.Words = e.Text
		}
	}
	return v
}

// traceGaps describes what frames of this trace source lack.
func (d *Env) traceGaps(f *trace.Frame) (gaps []string) {
	if d.Case.Tree.Source == trace.SourceReceipt {
		gaps = append(gaps, "no trace could be had: this one frame is made of transaction and receipt, inner calls are not known")
	} else if !d.Case.Tree.HasLogs {
		gaps = append(gaps, "the trace has no logs: see get_logs for those of the receipt")
	}
	if len(f.Markers) > 0 {
		gaps = append(gaps, "calls of this frame that repeat others were left out")
	}
	return gaps
}

// row returns the row of a frame.
func (d *Env) row(f seen) FrameRow {
	n := f.node
	r := FrameRow{
		Frame: n.Path, Type: n.Type, Selector: n.Selector, Function: n.FunctionName, GasUsed: n.GasUsed,
		Status: n.Status, Error: n.Error, RevertedBy: n.RevertedBy, Calls: len(f.Children), LogCount: len(f.Logs),
	}
	if n.To != nil {
		r.To = &Party{*n.To, n.ToLabel}
	}
	if n.ValueWei != "0" {
		r.ValueWei = n.ValueWei
	}
	for _, m := range f.Markers {
		r.LeftOut += m.Removed
	}
	return r
}

type subtreeInput struct {
	Frame  *Path `json:"frame"  doc:"path of the top call; the root when absent"`
	Levels *int  `json:"levels" doc:"levels below it; 3 when absent"             min:"0" max:"20"`
	Offset int   `json:"offset" doc:"rows to pass over"                          min:"0" max:"1000000"`
	Limit  *int  `json:"limit"  doc:"rows at most; 40 when absent"               min:"1" max:"100"`
}

// SubtreeView is a page of calls in the order of execution.
type SubtreeView struct {
	Page
	Rows    []FrameRow `json:"rows"`
	Missing []string   `json:"missing,omitempty"`
}

var getSubtree = define(
	"get_subtree",
	"Calls below one call, in the order of execution, one line each, paged. A row's calls member says how many it made: ask for its own subtree to see deeper ones.",
	limitLocal,
	func(_ context.Context, d *Env, in *subtreeInput) (any, error) {
		top, err := d.frame(or(in.Frame, "0"))
		if err != nil {
			return nil, err
		}
		rows := d.below(top, or(in.Levels, defaultLevels))
		v := SubtreeView{Missing: d.traceGaps(top.Frame)}
		v.Rows, v.Page = pageOf(len(rows), in.Offset, or(in.Limit, defaultRows), func(i int) FrameRow { return d.row(rows[i]) })
		return v, nil
	},
)

// below lists a frame and the calls below it, down to a number of levels.
func (d *Env) below(top seen, levels int) (out []seen) {
	at := 0
	for i := range d.Case.Result.PrettyTrace {
		n := &d.Case.Result.PrettyTrace[i]
		if n.Type == "LOG" || at >= len(d.Case.Tree.Frames) {
			continue
		}
		f := d.Case.Tree.Frames[at]
		at++
		switch {
		case f.Index > top.Index && f.Depth <= top.Depth:
			return out // behind its last descendant
		case f.Index >= top.Index && f.Depth <= top.Depth+levels:
			out = append(out, seen{f, n})
		}
	}
	return out
}

func or[T any](p *T, byDefault T) T {
	if p == nil {
		return byDefault
	}
	return *p
}

type calldataInput struct {
	Frame  Path `json:"frame"  need:"" doc:"path of the call"`
	Offset int  `json:"offset"         doc:"first word of calldata to show raw" min:"0" max:"100000"`
	Limit  *int `json:"limit"          doc:"raw words; 16 when absent"          min:"0" max:"100"`
}

// CalldataView is the calldata of a frame.
type CalldataView struct {
	Page                 // of words
	Frame      string    `json:"frame"`
	Bytes      int       `json:"bytes"`
	Selector   string    `json:"selector,omitempty"`
	Signature  string    `json:"signature,omitempty"`
	NameSource string    `json:"nameSource,omitempty"`
	Note       string    `json:"note,omitempty"`
	Args       []api.Arg `json:"args,omitempty"`
	Words      []WordRow `json:"words"` // 32 bytes each, after the selector
}

// WordRow is one word of calldata.
type WordRow struct {
	Word  int     `json:"word"`
	Value api.Hex `json:"value"`
}

var decodeCalldata = define(
	"decode_calldata",
	"What a call was given: signature and arguments, where they come from, and the raw words behind the selector by number (those that simulate can change).",
	limitLocal,
	func(_ context.Context, d *Env, in *calldataInput) (any, error) {
		f, err := d.frame(in.Frame)
		if err != nil {
			return nil, err
		}
		v := CalldataView{
			Frame:      f.node.Path,
			Bytes:      len(f.Input),
			Selector:   f.node.Selector,
			Signature:  f.node.FunctionSignature,
			NameSource: f.node.Provenance,
			Args:       shortArgs(f.node.DecodedArgs),
		}
		if c := d.Case.Decoded.Calls[f.Index]; c != nil {
			v.Note = c.Note
		}
		data := f.Input[min(4, len(f.Input)):]
		v.Words, v.Page = pageOf((len(data)+31)/32, in.Offset, or(in.Limit, 16), func(i int) WordRow {
			return WordRow{i, api.Hex(data[32*i : min(32*i+32, len(data))])}
		})
		return v, nil
	},
)

// emitters returns the path of the frame that emitted each log of the receipt.
func (d *Env) emitters() map[int]string {
	out := make(map[int]string)
	at := 0
	for i := range d.Case.Result.PrettyTrace {
		n := &d.Case.Result.PrettyTrace[i]
		if n.Type == "LOG" || at >= len(d.Case.Tree.Frames) {
			continue
		}
		for j := range d.Case.Tree.Frames[at].Logs {
			if r := d.Case.Tree.Frames[at].Logs[j].Receipt; r >= 0 {
				out[r] = n.Path
			}
		}
		at++
	}
	return out
}

func addressOf(a *Address) common.Address {
	if a == nil {
		return common.Address{}
	}
	return common.Address(*a)
}
