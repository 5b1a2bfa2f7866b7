package decode

import (
	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Event decodes one log; nil when it is anonymous or unknown. f is the frame that emitted
// it, nil when unknown: if addr is a proxy, its code address determines whose event it is.
func (d *Decoder) Event(f *trace.Frame, addr common.Address, topics []common.Hash, data []byte) *Event {
	if len(topics) == 0 {
		return nil
	}
	key := tableKey{signature.Event, topics[0]}
	var buf [4]code
	codes := buf[:0]
	if len(d.src.Contracts) > 0 {
		if f != nil && f.From == addr && (f.Kind == trace.DelegateCall || f.Kind == trace.CallCode) {
			if v := d.contract(f.To); v != nil { // code of a library or an implementation
				codes = append(codes, code{v, FromVerifiedImpl})
			}
		}
		codes = d.codesAt(addr, codes)
	}
	for _, code := range codes {
		for _, s := range code.find(key) {
			if e := d.event(candidate{s, code.from}, topics[1:], data); e != nil {
				return e
			}
		}
	}
	known := d.known(key)
	for _, c := range known {
		if e := d.event(c, topics[1:], data); e != nil {
			return e
		}
	}
	// The hash proves the text; a contract may index other arguments than those the
	// tables know of.
	for _, c := range known {
		if !c.LayoutUnknown {
			s := *c.Signature
			s.LayoutUnknown = true
			return d.event(candidate{&s, c.from}, topics[1:], data)
		}
	}
	return nil
}

// event decodes one log with one candidate.
func (d *Decoder) event(c candidate, topics []common.Hash, data []byte) *Event {
	s := c.Signature
	if s.LayoutUnknown {
		var certain bool
		if s, certain = d.vals.layout(s, topics, data); s == nil {
			return nil
		}
		if !certain {
			return &Event{Name: s.Name, Signature: s.Text, Provenance: c.from, Source: c.Source, Note: NoteLayout}
		}
	}
	m := c.mode()
	if m == trailing {
		m = exact // people append to calldata; logs are written by the contract itself
	}
	args, note, ok := d.vals.log(s, topics, data, m)
	if !ok {
		return nil
	}
	if c.LayoutUnknown && s.Indexed > 0 && s.Indexed < len(s.Inputs) && note == "" {
		note = NoteLayout
	}
	return &Event{Name: s.Name, Signature: s.Text, Args: args, Provenance: c.from, Source: c.Source, Note: note}
}

// log decodes topics and data of an event whose indexed arguments are known.
func (v *values) log(s *signature.Signature, topics []common.Hash, data []byte, m mode) ([]api.Arg, string, bool) {
	if s.Indexed != len(topics) {
		return nil, "", false
	}
	args, note, ok := v.read(s.Inputs, s.Head, data, m)
	if !ok {
		return nil, "", false
	}
	next := 0
	for i, p := range s.Inputs {
		if !p.Indexed {
			continue
		}
		w := topics[next][:]
		next++
		switch t := p.Type; {
		case t.Dynamic || t.Kind >= signature.Bytes: // only its hash is in the log
			args[i].Value = v.hex(w)
		case !inRange(t, w):
			return nil, "", false
		default:
			args[i].Value = v.leaf(t, w)
		}
	}
	return args, note, true
}
