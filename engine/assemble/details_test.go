package assemble_test

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/testkit/recorded"
	"txlens/testkit/size"
)

// TestDetails: each detail belongs to its line, its places exist, and a transfer has the
// accounts and the raw amount of the transfer that the result lists.
func TestDetails(t *testing.T) {
	transfers := 0
	for ev := range recorded.Sample(t) {
		r := assemble.Result(ev)
		if len(r.StepsDetail) == 0 || len(r.StepsDetail) > len(r.Steps) || len(r.RisksDetail) != len(r.Risks) {
			t.Errorf("%s: %d details of %d steps, %d of %d risks", r.TxHash, len(r.StepsDetail), len(r.Steps), len(r.RisksDetail), len(r.Risks))
			continue
		}
		listed := map[uint64]*api.TokenTransfer{}
		for i := range r.TokenTransfers {
			listed[r.TokenTransfers[i].LogIndex] = &r.TokenTransfers[i]
		}
		for i := range r.StepsDetail {
			d := &r.StepsDetail[i]
			if d.Text != r.Steps[i] || d.Kind == "" {
				t.Errorf("%s: step %d: %q (%s) beside %q", r.TxHash, i, d.Text, d.Kind, r.Steps[i])
			}
			for _, n := range d.Refs.Nodes {
				if n < 0 || n >= len(r.PrettyTrace) {
					t.Errorf("%s: step %d: no node %d", r.TxHash, i, n)
				}
			}
			transfers += compareTransfer(t, r.TxHash, d, listed)
		}
		for i := range r.RisksDetail {
			if d := &r.RisksDetail[i]; d.Text != r.Risks[i] || !strings.HasPrefix(d.Text, d.Flag+": ") || !strings.HasSuffix(d.Text, d.Explanation) {
				t.Errorf("%s: risk %+v beside %q", r.TxHash, d, r.Risks[i])
			}
		}
	}
	if transfers < size.Of(10, 100) {
		t.Errorf("only %d transfers were compared", transfers)
	}
}

func compareTransfer(t *testing.T, hash string, d *api.StepDetail, listed map[uint64]*api.TokenTransfer) int {
	t.Helper()
	if d.Kind != "transfer" || len(d.Refs.LogIndexes) != 1 || len(d.Amounts) != 1 || d.Actor == nil {
		return 0
	}
	x := listed[d.Refs.LogIndexes[0]]
	if x == nil {
		t.Errorf("%s: %q refers to no transfer", hash, d.Text)
		return 0
	}
	a := &d.Amounts[0]
	known := x.Decimals != "" && x.TokenID == ""
	if *d.Actor != x.From || a.TokenAddress != x.TokenAddress || a.RawAmount != x.Total || (a.Amount != nil) != known {
		t.Errorf("%s: %+v beside %+v", hash, d, x)
	}
	return 1
}
