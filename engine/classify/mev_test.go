package classify_test

import (
	"strings"
	"testing"
	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/testkit/fixture"
	"txlens/testkit/scene"
)

// TestRecordedSearchers holds the rules to transactions whose kind others established.
func TestRecordedSearchers(t *testing.T) {
	list := fixture.MEVs(t)
	right := 0
	for i := range list {
		m := &list[i]
		v := scene.Judge(scene.FromMEV(t, m))
		want := wantOfMEV(m.Kind)
		got := typeName(v)
		ok := got == want || want == "not mev" && got != "mev" && got != "liquidation"
		if strings.Contains(m.Kind, "reverted") {
			ok = ok && !strings.Contains(v.Summary, "arbitrage over")
		}
		if ok {
			right++
		} else {
			t.Errorf("%s (%s): %s/%s, want %s: %s", m.Hash, m.Kind, got, v.SubType, want, v.Summary)
		}
		t.Logf("%-45s %s/%s %s: %s", m.Kind, got, v.SubType, v.Confidence, v.Summary)
	}
	t.Logf("%d of %d right", right, len(list))
	if len(list) != 20 {
		t.Errorf("%d recordings, want 20", len(list))
	}
}

func wantOfMEV(kind string) string {
	switch k := strings.ToLower(kind); {
	case strings.Contains(k, "reverted"), strings.Contains(k, "must not"):
		return "not mev"
	case strings.Contains(k, "liquidation"):
		return string(api.TypeLiquidation)
	case strings.Contains(k, "arbitrage"):
		return string(api.TypeMEV)
	}
	return string(api.TypeSwap)
}

// TestSandwich: both legs and the victim show by their neighbours, and nobody else in
// the recorded blocks is taken for one of them.
func TestSandwich(t *testing.T) {
	want := map[string]string{
		"0xce24f91efa43d0240c376ebd4734f21e4014440dfd3b03310e7b67e633a62fa3": "front leg",
		"0x4c4325abbb7b3003c0afa7d55e1fa8b71d598a2c126a52497cb889c1c144eda5": "victim",
		"0x80ce0c71a4cf6c60f3a7e467bdaa6537348d42b6d6349aec7ecf023e1622e18e": "back leg",
	}
	blocks := fixture.Blocks(t)
	for i := range blocks {
		b := &blocks[i]
		blk, err := ethrpc.ParseBlock(b.Header)
		if err != nil {
			t.Fatal(err)
		}
		for j := range b.Txs {
			facts := scene.FromFixture(t, b, &b.Txs[j], blk)
			scene.Around(t, facts, b, j)
			v := scene.Judge(facts)
			checkVerdict(t, b.Txs[j].Hash, facts, v)
			got := part(v)
			if got != "" || typeName(v) == "mev" {
				t.Logf("%d %s %s: %s/%s %s %q", b.Number, b.Txs[j].Hash, got, typeName(v), v.SubType, v.Summary, lines(v))
			}
			if got != want[b.Txs[j].Hash] {
				t.Errorf("%s: %q, want %q", b.Txs[j].Hash, got, want[b.Txs[j].Hash])
			}
			switch {
			case got == "victim" && (typeName(v) != "swap" || !strings.Contains(strings.Join(lines(v), "\n"), "sandwich: ")),
				strings.HasSuffix(got, "leg") && (typeName(v) != "mev" || v.SubType != "sandwich_leg"):
				t.Errorf("%s: %s/%s, risks %q", b.Txs[j].Hash, typeName(v), v.SubType, lines(v))
			}
			delete(want, b.Txs[j].Hash)
		}
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
}

func part(v *scene.Judged) string {
	switch w := v.Sandwich; {
	case w == nil:
		return ""
	case !w.Leg:
		return "victim"
	case w.Front:
		return "front leg"
	}
	return "back leg"
}
