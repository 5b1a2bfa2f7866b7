package label

import (
	"strings"
	"testing"

	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
)

// TestCuratedList holds every line to its form: a checksum that holds, chains
// that exist, no place named twice.
func TestCuratedList(t *testing.T) {
	seen := map[string]int{}
	n := 0
	for line := range strings.Lines(curatedTSV) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		col := strings.Split(line, "\t")
		if len(col) != 5 {
			t.Errorf("line %d has %d columns", n, len(col))
			continue
		}
		if got := common.HexToAddress(col[1]).Hex(); got != col[1] {
			t.Errorf("line %d: %s fails its checksum (%s)", n, col[1], col[2])
		}
		for _, c := range strings.Split(col[0], ",") {
			if _, ok := chain.BySlug(c); !ok && c != "*" {
				t.Errorf("line %d: no chain %q", n, c)
			}
			k := c + " " + strings.ToLower(col[1])
			if seen[k] != 0 {
				t.Errorf("line %d: %s is on line %d already", n, k, seen[k])
			}
			seen[k] = n
		}
		if col[2] == "" || Clean(col[2]) != col[2] || !slug(col[3]) || col[4] != "-" && !slug(col[4]) {
			t.Errorf("line %d: bad name, category or protocol: %q", n, col[2:])
		}
	}
	if n < 300 {
		t.Errorf("%d lines", n)
	}
}

func slug(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
