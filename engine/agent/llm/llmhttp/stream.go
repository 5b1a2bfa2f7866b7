package llmhttp

import (
	"bufio"
	"bytes"
	"io"

	"txlens/engine/agent/llm"
)

// Event is one server-sent event. Both members are valid until the next one is read.
type Event struct {
	Name string
	Data []byte // the data lines, each ended by a line feed
}

// Stream reads server-sent events as section 9.2 of the HTML standard defines them, and
// holds at most one event of maxEvent bytes. Lines end in LF or CRLF, as those of all
// known servers do. It is owned by the caller of Post.
type Stream struct {
	body  io.Closer
	lines *bufio.Scanner
	event Event
	err   error
}

// NewStream reads events from r.
func NewStream(r io.ReadCloser) *Stream {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	return &Stream{body: r, lines: lines}
}

// Next reads the next event that has data, and reports whether there is one. An event
// that does not end in a blank line is dropped.
func (s *Stream) Next() bool {
	if s.err != nil {
		return false
	}
	s.event = Event{Data: s.event.Data[:0]}
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if len(line) == 0 {
			if len(bytes.TrimSpace(s.event.Data)) > 0 {
				return true
			}
			s.event = Event{Data: s.event.Data[:0]}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			s.event.Name = string(value)
		case "data":
			if len(s.event.Data)+len(value) >= maxEvent {
				s.err = errEventTooLarge
				return false
			}
			s.event.Data = append(append(s.event.Data, value...), '\n')
		}
	}
	if s.err = s.lines.Err(); s.err == bufio.ErrTooLong {
		s.err = errEventTooLarge
	}
	return false
}

var errEventTooLarge = &llm.Fault{Err: llm.ErrMalformed, Detail: "an event of the stream is too large"}

// Event is what Next read.
func (s *Stream) Event() Event { return s.event }

// Err is why Next returned false; nil at the end of the stream.
func (s *Stream) Err() error { return s.err }

// Close ends the exchange.
func (s *Stream) Close() error { return s.body.Close() }
