package decode

import (
	"fmt"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/fixture"
)

type tally struct {
	total int
	by    map[Provenance]int
}

func (t *tally) add(p Provenance) {
	if t.by == nil {
		t.by = map[Provenance]int{}
	}
	t.total++
	t.by[p]++
}

func (t *tally) percent() int { return 100 * (t.total - t.by[""]) / max(t.total, 1) }

func (t *tally) String() string {
	return fmt.Sprintf("%d %% of %d, by provenance %v", t.percent(), t.total, t.by)
}

// Offline, the embedded tables alone must name at least what they are known to
// hold of real blocks.
func TestCoverageOfRealBlocks(t *testing.T) {
	top, inner, logs, fails := map[uint64]*tally{}, map[uint64]*tally{}, map[uint64]*tally{}, map[uint64]*tally{}
	for _, b := range fixture.Blocks(t) {
		id := b.ChainID
		if top[id] == nil {
			top[id], inner[id], logs[id], fails[id] = &tally{}, &tally{}, &tally{}, &tally{}
		}
		for _, tx := range b.Txs {
			tree, rc := load(t, tx)
			s := New(nil, Sources{}).All(tree, rc)
			if len(s.Calls) != len(tree.Frames) || len(s.Failures) != len(tree.Frames) || len(s.Events) != len(rc.Logs) {
				t.Fatalf("%s: the set does not fit the tree", tx.Hash)
			}
			for i, f := range tree.Frames {
				if c := s.Calls[i]; c != nil && c.HasSelector && (f.Kind == trace.Call || f.Kind == trace.StaticCall) {
					if i == 0 {
						top[id].add(c.Provenance)
					} else {
						inner[id].add(c.Provenance)
					}
				}
				if fl := s.Failures[i]; fl != nil {
					fails[id].add(fl.Provenance)
				}
			}
			for i, e := range s.Events {
				if len(rc.Logs) > 5000 || len(rc.Logs[i].Topics) == 0 {
					continue // one creation with 10,001 logs would drown the rest
				}
				if e == nil {
					e = &Event{}
				}
				logs[id].add(e.Provenance)
			}
		}
	}
	floor := func(what string, got *tally, percent int) {
		t.Helper()
		t.Logf("%-20s %v", what, got)
		if got.percent() < percent {
			t.Errorf("%s: decoded %d %%, want at least %d %%", what, got.percent(), percent)
		}
	}
	floor("mainnet top calls", top[1], 80)
	floor("mainnet inner calls", inner[1], 90)
	floor("mainnet events", logs[1], 80)
	floor("mainnet failures", fails[1], 40)
	floor("optimism top calls", top[10], 55)
	floor("optimism inner calls", inner[10], 60)
	floor("optimism events", logs[10], 60)
	floor("scroll top calls", top[534352], 20)
	floor("scroll events", logs[534352], 50)
}
