package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// maxEvent limits one event: a result with the trace of a huge transaction.
	maxEvent = 64 << 20
	// maxLine limits a line without data.
	maxLine = 4 << 10
)

// event is one server-sent event.
type event struct {
	name string // empty for an unnamed one
	data []byte
}

var (
	errEventSize  = fmt.Errorf("%w: an event is larger than %d bytes", ErrProtocol, maxEvent)
	errStreamSize = fmt.Errorf("%w: the stream is longer than %d bytes", ErrProtocol, maxAnswer)
)

// events reads server-sent events. Lines end at LF or CRLF. A lone CR is data here, although
// the standard calls it a line end: with a server that does not escape it, the text of a
// transaction could otherwise forge payment events.
type events struct {
	in   *bufio.Reader
	left int64 // limit of the bytes of the stream that are still to be read
	most int   // limit of one event
}

func newEvents(r io.Reader) *events {
	return &events{in: bufio.NewReaderSize(r, 64<<10), left: maxAnswer, most: maxEvent}
}

// next reads one event; io.EOF after the last complete one, io.ErrUnexpectedEOF if the stream
// breaks within one.
func (e *events) next() (ev event, err error) {
	var data bytes.Buffer
	some := false
	for {
		line, err := e.line(e.most - data.Len())
		if err == io.EOF && (some || len(line) > 0) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if some {
				ev.data = bytes.TrimSuffix(data.Bytes(), []byte("\n"))
				return ev, nil
			}
			continue // end of a comment
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			some = true
			data.Write(value)
			data.WriteByte('\n')
		case "event":
			if len(value) > maxLine {
				return event{}, fmt.Errorf("%w: the name of an event is too long", ErrProtocol)
			}
			some, ev.name = true, string(value)
		}
	}
}

// line reads one line without its end.
func (e *events) line(most int) (line []byte, err error) {
	for {
		part, err := e.in.ReadSlice('\n')
		if e.left -= int64(len(part)); e.left < 0 {
			return nil, errStreamSize
		}
		if len(line)+len(part) > most+maxLine {
			return nil, errEventSize
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// errSilent means that the stream is open and sends nothing.
var errSilent = errors.New("nothing has come for too long")

// watchedBody is a response body that is closed when nothing arrives for a while.
type watchedBody struct {
	io.ReadCloser
	patience time.Duration
	timer    *time.Timer
	silent   chan struct{}
}

// watch closes the body after the given silence, and when ctx ends.
func watch(ctx context.Context, body io.ReadCloser, patience time.Duration) (*watchedBody, func()) {
	w := &watchedBody{ReadCloser: body, patience: patience, silent: make(chan struct{})}
	w.timer = time.AfterFunc(patience, func() {
		close(w.silent)
		body.Close()
	})
	stop := context.AfterFunc(ctx, func() { body.Close() })
	return w, func() {
		w.timer.Stop()
		stop()
		body.Close()
	}
}

func (w *watchedBody) Read(p []byte) (n int, err error) {
	n, err = w.ReadCloser.Read(p)
	if n > 0 {
		w.timer.Reset(w.patience)
	}
	select {
	case <-w.silent:
		if err != nil {
			err = errSilent
		}
	default:
	}
	return n, err
}
