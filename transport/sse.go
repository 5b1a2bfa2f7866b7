package transport

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
	"txlens/engine/report"
	"txlens/transport/wire"
)

// asSent is how answers are encoded. Text from a chain may be no UTF-8; it must not
// cost the whole result.
var asSent = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// lastFrame makes of a result the frame that ends the stream of its job.
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

// writeFrame writes v as one server-sent event: its JSON after "data: ", then a
// blank line. There is no event line, since the type is in the data and a browser
// hands unnamed events to onmessage.
func writeFrame(w io.Writer, v any) error {
	if _, err := io.WriteString(w, "data: "); err != nil {
		return err
	}
	if err := json.MarshalWrite(&dataWriter{w: w}, v, asSent); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n\n")
	return err
}

// dataWriter writes the payload of one event. A line of a stream ends at LF, CR or
// CRLF, and a line that does not begin with "data:" is a field or ends the event:
// so each payload line gets its own "data: ". JSON has no raw line ends; this
// holds whatever the encoder does.
type dataWriter struct {
	w  io.Writer
	cr bool // the last byte was a CR: an LF that follows belongs to it
}

// Write may be given the payload in pieces of any size.
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

// lineEnd is the index of the first LF or CR, -1 without one. Two vectored
// searches beat one that looks at each byte.
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
