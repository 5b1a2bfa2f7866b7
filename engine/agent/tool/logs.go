package tool

import (
	"context"
	"strings"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// LogRow is one log of the receipt.
type LogRow struct {
	LogIndex   uint64    `json:"logIndex"` // of the block, as the receipt gives it
	Emitter    Party     `json:"emitter"`
	Frame      string    `json:"frame,omitempty"`
	Event      string    `json:"event,omitempty"`
	Signature  string    `json:"signature,omitempty"`
	NameSource string    `json:"nameSource,omitempty"`
	Note       string    `json:"note,omitempty"`
	Args       []api.Arg `json:"args,omitempty"`
	Topics     []api.Hex `json:"topics,omitempty"` // if no name was found
	Data       api.Hex   `json:"data,omitempty"`   // likewise, the first bytes
	DataSize   int       `json:"dataBytes,omitzero"`
}

type logsInput struct {
	From    *int     `json:"from"    min:"0" max:"10000000" doc:"lowest logIndex"`
	To      *int     `json:"to"      min:"0" max:"10000000" doc:"highest logIndex"`
	Address *Address `json:"address"                        doc:"emitter"`
	Topic   *Word    `json:"topic"                          doc:"a topic at any position; an address counts in its padded form"`
	Event   *string  `json:"event"           max:"80"       doc:"name of the event, such as Transfer"`
	Offset  int      `json:"offset"  min:"0" max:"1000000"  doc:"rows to pass over"`
	Limit   *int     `json:"limit"   min:"1" max:"100"      doc:"rows at most; 30 when absent"`
}

// LogsView is a page of logs in the order of the receipt.
type LogsView struct {
	Page
	Logs []LogRow `json:"logs"`
}

var getLogs = define(
	"get_logs",
	"Logs of the receipt, decoded, with the frame that emitted each: by range of logIndex, emitter, topic or event name. Logs of failed calls are none.",
	limitLocal,
	func(_ context.Context, d *Env, in *logsInput) (any, error) {
		if d.Case.Evidence.Receipt == nil {
			return unavailable("the receipt could not be had, so the logs are not known")
		}
		var hits []int
		for i := range d.Case.Receipt.Logs {
			if d.matches(in, i) {
				hits = append(hits, i)
			}
		}
		paths := d.emitters()
		v := LogsView{}
		v.Logs, v.Page = pageOf(len(hits), in.Offset, or(in.Limit, 30), func(i int) LogRow { return d.logRow(hits[i], paths[hits[i]]) })
		return v, nil
	},
)

func (d *Env) matches(in *logsInput, i int) bool {
	l := &d.Case.Receipt.Logs[i]
	if in.From != nil && l.Index < uint64(*in.From) || in.To != nil && l.Index > uint64(*in.To) ||
		in.Address != nil && l.Address != addressOf(in.Address) {
		return false
	}
	if in.Event != nil {
		if e := d.Case.Decoded.Events[i]; e == nil || !strings.EqualFold(e.Name, *in.Event) {
			return false
		}
	}
	if in.Topic == nil {
		return true
	}
	for _, t := range l.Topics {
		if t == common.Hash(*in.Topic) {
			return true
		}
	}
	return false
}

// logRow is the row of a log by its position in the receipt.
func (d *Env) logRow(i int, frame string) LogRow {
	l := &d.Case.Receipt.Logs[i]
	r := LogRow{LogIndex: l.Index, Emitter: d.party(l.Address), Frame: frame}
	if e := d.Case.Decoded.Events[i]; e != nil {
		r.Event, r.Signature, r.NameSource, r.Note, r.Args = e.Name, e.Signature, string(e.Provenance), e.Note, shortArgs(e.Args)
		if e.Args != nil {
			return r
		}
	}
	for _, t := range l.Topics {
		r.Topics = append(r.Topics, api.Hex(t[:]))
	}
	r.Data, r.DataSize = api.Hex(l.Data[:min(len(l.Data), headBytes)]), len(l.Data)
	return r
}
