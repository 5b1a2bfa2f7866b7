package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"txlens/engine/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it with -update and git diff\n%s", name, got)
	}
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
		golden(t, name+".txt", b.Bytes())
		golden(t, name+".mmd", []byte(Mermaid(r)))
	}
}

// TestGoldenHTML: a page with all sections; look at it in a browser after a change.
func TestGoldenHTML(t *testing.T) {
	golden(t, "swap.html", []byte(page1(t, swap())))
	golden(t, "drained.html", []byte(page1(t, drained())))
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
