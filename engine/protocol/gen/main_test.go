package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/protocol"
)

func TestLeaveOut(t *testing.T) {
	const (
		one = "deployment base 0x0000000000000000000000000000000000000001 dex A\n"
		two = "contract base 0x0000000000000000000000000000000000000002 dex B\n\tshared\n"
		sig = "event E(address)\n\tvote note own\n"
	)
	f := func(in, want string, gone int) {
		t.Helper()
		kept, list := leaveOut(in, []string{"a", "c"})
		if kept != want || len(list) != gone {
			t.Errorf("%q: %q, %q; want %q", in, kept, list, want)
		}
	}
	f("name X\n"+one, "name X\n"+one, 0)
	f("source a\n"+one+two, "", 2)
	f("source a\n"+two+sig, sig, 1)
	f("source a c\n"+one, "", 1)
	f("source a b\n"+two, "source b\n"+two, 0)
	f("source b\n"+one+"source a\n"+two+"source b\n"+one, "source b\n"+one+"source b\n"+one, 1)
	f("source a\n# why\n"+one, "# why\n", 1)
	f("source a\n"+one+"\n"+two, "\n"+two, 1) // a source holds for its block
}

// TestEverySource: the files can be read without any one of their sources, and no address of it
// alone is left.
func TestEverySource(t *testing.T) {
	ids := map[string]bool{}
	for _, p := range protocol.All() {
		for _, c := range p.Contracts {
			for _, id := range c.Sources {
				ids[id] = true
			}
		}
	}
	files, err := filepath.Glob("../*.txt")
	if err != nil || len(files) == 0 || len(ids) == 0 {
		t.Fatalf("%d files, %d sources, %v", len(files), len(ids), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		slug := strings.TrimSuffix(filepath.Base(path), ".txt")
		for id := range ids {
			kept, _ := leaveOut(string(text), []string{id})
			p, err := protocol.Parse(slug, kept, chain.BySlug)
			if err != nil {
				t.Fatalf("%s without %s: %v", slug, id, err)
			}
			for _, c := range p.Contracts {
				if slices.Contains(c.Sources, id) {
					t.Errorf("%s without %s still has %s", slug, id, c.Address)
				}
			}
		}
	}
}
