package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"txlens/engine/api"
)

// TestSVG: each file is well-formed XML of SVG without script or reference to the outside,
// and names what the drawing of the page names.
func TestSVG(t *testing.T) {
	for name, r := range samples() {
		for kind, write := range map[string]func(io.Writer, *api.Result) error{"flow": FlowSVG, "sequence": SequenceSVG} {
			var b bytes.Buffer
			if err := write(&b, r); err != nil {
				t.Fatal(err)
			}
			dec, root := xml.NewDecoder(&b), ""
			for {
				tok, err := dec.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s %s: %v", name, kind, err)
				}
				start, ok := tok.(xml.StartElement)
				if !ok {
					continue
				}
				if root == "" {
					root = start.Name.Space + " " + start.Name.Local
				}
				for _, a := range start.Attr {
					if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") {
						t.Errorf("%s %s: %s has %s", name, kind, start.Name.Local, a.Name.Local)
					}
				}
				if start.Name.Local == "script" || start.Name.Local == "foreignObject" {
					t.Errorf("%s %s has %s", name, kind, start.Name.Local)
				}
			}
			if root != "http://www.w3.org/2000/svg svg" {
				t.Errorf("%s %s: the root is %q", name, kind, root)
			}
		}
	}
	has := func(write func(io.Writer, *api.Result) error, r *api.Result, words string) {
		t.Helper()
		var b strings.Builder
		if err := write(&b, r); err != nil || !strings.Contains(b.String(), words) {
			t.Errorf("%v; %q is missing", err, words)
		}
	}
	has(FlowSVG, swap(), ">alice.eth<")
	has(SequenceSVG, swap(), "exactInputSingle")
	has(FlowSVG, &api.Result{}, "No tokens or coins moved.")
	if err := FlowSVG(brokenWriter{}, swap()); !errors.Is(err, errBroken) {
		t.Errorf("a broken pipe: %v", err)
	}
}
