package report

import (
	"bytes"
	"path/filepath"
	"testing"

	"txlens/engine/api"
	"txlens/testkit/golden"
)

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name), got)
}

func samples() map[string]*api.Result {
	return map[string]*api.Result{"swap": swap(), "failed": failed(), "partial": partial(), "deep": deep(500), "hostile": hostile(), "empty": {}, "drained": drained()}
}

func TestGolden(t *testing.T) {
	for name, r := range samples() {
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		compareGolden(t, name+".txt", b.Bytes())
		compareGolden(t, name+".mmd", []byte(Mermaid(r)))
	}
}

// TestGoldenHTML: a page with all sections; look at it in a browser after a change.
func TestGoldenHTML(t *testing.T) {
	compareGolden(t, "swap.html", []byte(page1(t, swap())))
	compareGolden(t, "drained.html", []byte(page1(t, drained())))
}

func TestSameBytesEachTime(t *testing.T) {
	for name, r := range samples() {
		var a, b bytes.Buffer
		for _, w := range []*bytes.Buffer{&a, &b} {
			if err := Text(w, r, TextOptions{Color: true, Width: 100}); err != nil {
				t.Fatal(err)
			}
			if err := HTML(w, r); err != nil {
				t.Fatal(err)
			}
			w.WriteString(Mermaid(r))
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two runs differ", name)
		}
	}
}
