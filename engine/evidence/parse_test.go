package evidence_test

import (
	"testing"

	"txlens/engine/evidence"
	"txlens/engine/fixture"
)

func TestFixtures(t *testing.T) {
	n := 0
	for _, b := range fixture.Blocks(t) {
		if _, err := evidence.ParseBlock(b.Header); err != nil {
			t.Errorf("%d/%d: %v", b.ChainID, b.Number, err)
		}
		for _, x := range b.Txs {
			n++
			if _, err := evidence.ParseTransaction(x.Tx); err != nil {
				t.Errorf("%s: %v", x.Hash, err)
			}
			if _, err := evidence.ParseReceipt(x.Receipt); err != nil {
				t.Errorf("%s: %v", x.Hash, err)
			}
			if _, err := evidence.ParseStateDiff(x.StateDiff); err != nil {
				t.Errorf("%s: %v", x.Hash, err)
			}
		}
	}
	for _, c := range fixture.LabelledChains {
		for _, l := range fixture.LabelledOf(t, c) {
			if _, err := evidence.ParseTransaction(l.Tx); err != nil {
				t.Errorf("%d %s: %v", c, l.Hash, err)
			}
			if _, err := evidence.ParseReceipt(l.Receipt); err != nil {
				t.Errorf("%d %s: %v", c, l.Hash, err)
			}
			if _, err := evidence.ParseBlock(l.Block); err != nil {
				t.Errorf("%d %s: %v", c, l.Hash, err)
			}
		}
	}
	t.Log(n)
}
