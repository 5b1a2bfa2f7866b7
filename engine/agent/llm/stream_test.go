package llm_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
)

// TestStreamsAreReadAsRecorded reads streams that follow the vendors' published
// schemas, and streams of servers that imitate them, and compares all that a caller
// gets with a golden file.
func TestStreamsAreReadAsRecorded(t *testing.T) {
	for _, v := range vendors {
		paths, err := filepath.Glob(filepath.Join("testdata", "streams", v.name+"_*.sse"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%d streams of %s, %v", len(paths), v.name, err)
		}
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".sse")
			t.Run(name, func(t *testing.T) {
				stream, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				compareGolden(t, filepath.Join("streams", name+".txt"), readStream(t, v, stream))
			})
		}
	}
}

// readStream serves the stream once and words what the turn brings.
func readStream(t *testing.T, v vendor, stream []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = w.Write(stream)
	}))
	defer s.Close()
	p, err := v.open(llmhttp.Config{BaseURL: s.URL, Limits: llmhttp.Limits{Retries: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.(io.Closer).Close()
	var b strings.Builder
	reply, err := p.Turn(t.Context(), ask(), func(d llm.Delta) {
		switch {
		case d.Usage != nil:
			fmt.Fprintf(&b, "usage %+v\n", *d.Usage)
		case d.Thought != "":
			fmt.Fprintf(&b, "thought %q\n", d.Thought)
		default:
			fmt.Fprintf(&b, "text %q\n", d.Text)
		}
	})
	for _, part := range reply.Message.Parts {
		switch {
		case part.Call != nil:
			fmt.Fprintf(&b, "part: call %q of %q with %s, broken %q\n", part.Call.ID, part.Call.Name, part.Call.Input, part.Call.Broken)
		case part.Opaque != nil:
			fmt.Fprintf(&b, "part: opaque %s\n", part.Opaque)
		default:
			fmt.Fprintf(&b, "part: text %q\n", part.Text)
		}
	}
	fmt.Fprintf(&b, "stop %q, usage %+v, guessed %v\n", reply.Stop, reply.Usage, reply.Guessed)
	if err != nil {
		fmt.Fprintf(&b, "error: %v (%s)\n", err, detail(err))
	}
	return b.String()
}
