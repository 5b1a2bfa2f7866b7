package protocol_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/protocol"
)

// TestSources: every deployment names who publishes its address, and docs/labels.md has the
// licence of each. An address that rotki alone has, which is under AGPL, is left out; those of
// alone are there until somebody else publishes them.
func TestSources(t *testing.T) {
	known := listedSources(t)
	rows := map[string]int{}
	for _, p := range protocol.All() {
		for _, c := range p.Contracts {
			byRotki := slices.Equal(c.Sources, []string{"rotki"}) && !slices.Contains(alone, c.Address.Hex())
			if c.Unlabelled && (len(c.Sources) == 0 || byRotki) {
				t.Errorf("%s line %d: %s has no source but %v", p.Slug, c.Line, c.Address, c.Sources)
			}
			for _, id := range c.Sources {
				if rows[id]++; !known[id] {
					t.Errorf("%s line %d: the source %q is not in docs/labels.md", p.Slug, c.Line, id)
				}
			}
		}
	}
	t.Logf("rows by source: %v", rows)
}

// alone are addresses without which events that many contracts emit name no protocol.
var alone = []string{
	"0x78D49Baa0FaE8CfB1CA2e51B2eA5C03fDdDFa4D5", "0xB91B59c91B09D127D269e53019F2420E8c2C7cE7",
	"0xEb33BB3705135e99F7975cDC931648942cB2A96f",
}

// listedSources are the ids of the tables of docs/labels.md that have a column "licence".
func listedSources(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/labels.md")
	if err != nil {
		t.Fatal(err)
	}
	list, in := map[string]bool{}, false
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "licence" }):
			in = true
		case in:
			id, _, _ := strings.Cut(strings.TrimSpace(cells[0]), " ") // a package has its version behind it
			list[id] = true
		}
	}
	return list
}

// TestSourceOfABlock: a source holds for the contracts below it, up to the next one or the end of
// the block.
func TestSourceOfABlock(t *testing.T) {
	f := func(lines string, want ...string) {
		t.Helper()
		p, err := protocol.Parse("x", "name X\n"+lines, chain.BySlug)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range p.Contracts {
			got = append(got, strings.Join(c.Sources, "+"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
	const row = "deployment base 0x0000000000000000000000000000000000000001 dex A\n"
	const shared = "contract base 0x0000000000000000000000000000000000000002 dex B\n\tshared\n"
	f(row, "")
	f("source a\n"+row+shared, "a", "a")
	f("source a b\n"+row+"source c\n"+shared, "a+b", "c")
	f("source a\n"+row+"\n"+shared, "a", "")
	f("source a\n# why\n"+row, "a")
	if _, err := protocol.Parse("x", "name X\nsource\n"+row, chain.BySlug); err == nil {
		t.Error("a source without a name is read")
	}
}
