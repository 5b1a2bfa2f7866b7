package transport

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
	"txlens/engine/report"
	"txlens/transport/wire"
)

// encodeOptions are the options of the encoder. Text of a chain may be invalid UTF-8, which must not
// fail the whole result.
var encodeOptions = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// lastFrame converts a result to the frame that ends the stream of its job.
func lastFrame(job RunSpec, res *api.Result) (any, error) {
	if !job.Request.Report {
		return wire.ResultFrame{Type: api.EventResult, RequestID: job.ID, Result: res}, nil
	}
	var page strings.Builder
	if err := report.HTML(&page, res); err != nil {
		return nil, err
	}
	return wire.ReportFrame{Type: api.EventReport, RequestID: job.ID, HTML: strings.ToValidUTF8(page.String(), "\uFFFD")}, nil
}

// writeFrame writes v as one server-sent event: its JSON after "data: ", then a blank line.
// There is no event line, because the type is in the data and browsers pass unnamed events to
// onmessage.
func writeFrame(w io.Writer, v any) error {
	if _, err := io.WriteString(w, "data: "); err != nil {
		return err
	}
	if err := json.MarshalWrite(&dataWriter{w: w}, v, encodeOptions); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n\n")
	return err
}

// encodedFrame is what writeFrame writes. JSON that was encoded before is one line, and is not read again.
func encodedFrame(v any) ([]byte, error) {
	if doc, ok := v.(jsontext.Value); ok && !bytes.ContainsAny(doc, "\r\n") {
		return slices.Concat([]byte("data: "), doc, []byte("\n\n")), nil
	}
	var frame bytes.Buffer
	if err := writeFrame(&frame, v); err != nil {
		return nil, err
	}
	return bytes.Clone(frame.Bytes()), nil
}

// dataWriter writes the data of one event. A line of a stream ends at LF, CR or CRLF, and a
// line without "data:" is another field or ends the event. So each line of the data gets its
// own "data: ". JSON has no raw line ends, but dataWriter does not depend on that.
type dataWriter struct {
	w  io.Writer
	cr bool // the last byte was CR: a following LF belongs to it
}

// Write accepts the data in pieces of any size.
func (d *dataWriter) Write(p []byte) (int, error) {
	written := len(p)
	if d.cr && len(p) > 0 {
		d.cr = false
		if p[0] == '\n' {
			p = p[1:]
		}
	}
	for {
		i := lineEnd(p)
		if i < 0 {
			break
		}
		if _, err := d.w.Write(p[:i]); err != nil {
			return 0, err
		}
		if _, err := io.WriteString(d.w, "\ndata: "); err != nil {
			return 0, err
		}
		switch {
		case p[i] == '\r' && i+1 == len(p):
			d.cr = true
		case p[i] == '\r' && p[i+1] == '\n':
			i++
		}
		p = p[i+1:]
	}
	if len(p) == 0 {
		return written, nil
	}
	if _, err := d.w.Write(p); err != nil {
		return 0, err
	}
	return written, nil
}

// lineEnd returns the index of the first LF or CR, -1 if there is none. Two vectorised
// searches are faster than one loop over the bytes.
func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf >= 0 {
		p = p[:lf]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
