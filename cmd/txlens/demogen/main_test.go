package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
	"txlens/testkit/fixture"
)

// TestEmbeddedBundles: the bundles of the demo are what this program makes of the
// recorded blocks. Durations, and the order of calls that run side by side, may differ.
func TestEmbeddedBundles(t *testing.T) {
	dir := t.TempDir()
	if err := run(fixture.Dir(t), filepath.Join("..", "..", "..", "engine", "check", "testdata"), dir); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(made) != len(recorded)+len(specimens) {
		t.Fatalf("%d bundles, %v", len(made), err)
	}
	for _, path := range made {
		name := filepath.Base(path)
		if got, want := replay(t, filepath.Join("..", "demo", name)), replay(t, path); got != want {
			t.Errorf("%s is not what demogen makes; run demogen. It gives\n%.2000s\nwant\n%.2000s", name, got, want)
		}
	}
}

var inLiveRuns = regexp.MustCompile(`"durationMs":[0-9]+`)

// replay is the result that a bundle gives, as JSON.
func replay(t *testing.T, path string) string {
	t.Helper()
	b, err := upstream.ReadBundle(path)
	if err != nil {
		t.Fatal(err)
	}
	x := analysis.New(analysis.Options{SourcesOff: b.Meta.SourcesOff})
	defer x.Close()
	m := new(meter.Meter)
	req := api.Request{TxHash: b.Meta.TxHash, ChainID: b.Meta.ChainID, Context: b.Meta.Context}
	res, err := x.Explain(context.Background(), analysis.Input{Request: req, World: upstream.ReplaySession(b, m), Meter: m})
	if err != nil {
		t.Fatal(err)
	}
	res.ToolCalls = nil
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return inLiveRuns.ReplaceAllString(string(text), `"durationMs":0`)
}
