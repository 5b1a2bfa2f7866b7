package job

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"txlens/engine/api"
)

// keptRows is a KeptStore and RunStore in memory.
type keptRows struct {
	kept map[KeptKey]Kept
	puts int
}

func (s *keptRows) PutKept(rows ...Kept) error {
	s.puts++
	for _, row := range rows {
		s.kept[row.Key] = row
	}
	return nil
}

func (s *keptRows) Kept(key KeptKey) (Kept, error) {
	row, ok := s.kept[key]
	if !ok {
		return row, api.ErrNoRun
	}
	return row, nil
}

func (s *keptRows) PutRun(RunRow) error { return nil }

func (s *keptRows) Run(id string) (RunRow, error) {
	if id == "gone" {
		return RunRow{}, api.ErrNoRun
	}
	return RunRow{ID: id, State: RunReplayable, Frames: []byte(`[{"type":"complete"},{"type":"result"}]`)}, nil
}

// TestKeeperAsksUntilFinal: the block is asked for while it may be replaced, counted from when the
// transaction was last seen in it and not from now.
func TestKeeperAsksUntilFinal(t *testing.T) {
	f := func(chainID uint64, seen, now time.Duration, block byte, fault error, wantFound bool, wantAsked int, wantFinal bool) {
		t.Helper()
		mined := time.Unix(1_700_000_000, 0)
		s, asked := &keptRows{kept: map[KeptKey]Kept{}}, 0
		k := NewKeeper(KeeperOptions{
			Store: s, Runs: NewRuns(s, KeepAll), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return mined.Add(now) },
			Block: func(context.Context, uint64, string) ([32]byte, error) { asked++; return [32]byte{block}, fault },
		})
		req := api.Request{TxHash: "0xAB"}
		k.Keep(req, api.EventResult, Kept{
			Run: "a", Mined: Mined{ChainID: chainID, Block: [32]byte{1}, Time: mined.Unix()}, CheckedAt: mined.Add(seen).Unix(), MadeAt: mined.Add(seen).Unix(),
		})
		a, err := k.Find(t.Context(), req, api.EventResult)
		if found := err == nil; found != wantFound || asked != wantAsked || !found && !errors.Is(err, api.ErrNoRun) {
			t.Errorf("found %v, %v, asked %d times", found, err, asked)
		}
		if err == nil && (a.Run != "a" || a.Age != now-seen || string(a.Frame) != `{"type":"result"}`) {
			t.Errorf("%+v", a)
		}
		k.Find(t.Context(), req, api.EventResult)
		if final := asked == wantAsked; final != wantFinal {
			t.Errorf("a second look: asked %d times", asked)
		}
		req.ChainID = chainID // what was found is known by its chain, too
		if _, err := k.Find(t.Context(), req, api.EventResult); (err == nil) != wantFound {
			t.Errorf("on its chain: %v", err)
		}
	}
	const hour, day = time.Hour, 24 * time.Hour
	f(1, hour, hour, 1, nil, true, 0, true)               // seen when it was final
	f(1, hour-time.Second, 2*hour, 1, nil, true, 1, true) // seen before: once more, then never
	f(1, time.Minute, 2*time.Minute, 1, nil, true, 1, false)
	f(1, time.Minute, 2*hour, 2, nil, false, 1, false) // replaced in the meantime
	f(1, time.Minute, 2*hour, 1, errors.New("no node"), false, 1, false)
	f(137, hour, hour, 1, nil, true, 0, true)       // votes
	f(10, hour, hour, 1, nil, true, 1, false)       // a rollup
	f(10, day, day, 1, nil, true, 0, true)          //
	f(61, day, day, 1, nil, true, 1, false)         // proof of work
	f(61, 7*day, 7*day, 1, nil, true, 0, true)      //
	f(987654, 9*day, 9*day, 1, nil, true, 1, false) // no chain of the table
}

// TestKeeperKey: what changes a result changes its key, and nothing else does.
func TestKeeperKey(t *testing.T) {
	o := KeeperOptions{Rules: "1", Model: func(r api.Request) string { return r.ModelOr("model-sonnet-4-6") }}
	base := api.Request{TxHash: "0xab"}
	f := func(same bool, rules string, change func(*api.Request)) {
		t.Helper()
		other, req := o, base
		other.Rules = rules
		change(&req)
		if got := NewKeeper(other).Key(req) == NewKeeper(o).Key(base); got != same {
			t.Errorf("%+v: the same key is %v", req, got)
		}
	}
	f(true, "1", func(*api.Request) {})
	f(false, "2", func(*api.Request) {})
	f(true, "1", func(r *api.Request) { r.TxHash = "0xAB" })
	f(true, "1", func(r *api.Request) { r.View, r.Report, r.Fresh = api.ViewSummary, true, true })
	f(true, "1", func(r *api.Request) { r.Model = "model-sonnet-4-6" })
	f(false, "1", func(r *api.Request) { r.Model = "model-opus-5" })
	f(false, "1", func(r *api.Request) { r.ChainID = 1 })
	f(false, "1", func(r *api.Request) { r.Context = "x" })
	f(false, "1", func(r *api.Request) { r.TxHash = "0xac" })
	k := NewKeeper(o)
	if k.key(base, api.EventResult, "") == k.key(base, api.EventReport, "") {
		t.Error("a result is found as a report")
	}
}

// TestKeeperWithoutRun: an entry whose run is gone is no answer.
func TestKeeperWithoutRun(t *testing.T) {
	s := &keptRows{kept: map[KeptKey]Kept{}}
	k := NewKeeper(KeeperOptions{Store: s, Runs: NewRuns(s, KeepAll), Log: slog.New(slog.DiscardHandler)})
	k.Keep(api.Request{}, api.EventResult, Kept{Run: "gone", Mined: Mined{ChainID: 1}, CheckedAt: 1e9})
	if _, err := k.Find(t.Context(), api.Request{}, api.EventResult); !errors.Is(err, api.ErrNoRun) {
		t.Error(err)
	}
}

// TestEvidenceIsNoRun: what an analysis read is found by its request alone, not as a run.
func TestEvidenceIsNoRun(t *testing.T) {
	shelf := newShelf()
	s := &keptRows{kept: map[KeptKey]Kept{}}
	runs := NewRuns(shelf, KeepAll)
	rules := func(evidence, rules, data string) *Keeper {
		return NewKeeper(KeeperOptions{
			Store: s, Runs: runs, Evidence: evidence, Rules: rules, Data: func() string { return data }, Log: slog.New(slog.DiscardHandler),
		})
	}
	began := time.Unix(1_700_000_000, 0)
	at := Mined{ChainID: 1, Block: [32]byte{1}, Time: began.Add(-time.Hour).Unix(), Data: "a"}
	rules("e", "1", "a").KeepEvidence(api.Request{TxHash: "0xAB"}, at, began, []byte("read"))
	f := func(k *Keeper, req api.Request, want string) {
		t.Helper()
		ev, err := k.FindEvidence(t.Context(), req)
		if string(ev.Bundle) != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, api.ErrNoRun) {
			t.Errorf("%q, %v", ev.Bundle, err)
		}
		if _, err := k.Find(t.Context(), req, api.EventResult); !errors.Is(err, api.ErrNoRun) {
			t.Errorf("a result: %v", err)
		}
	}
	f(rules("e", "1", "a"), api.Request{TxHash: "0xab"}, "read")
	f(rules("e", "2", "b"), api.Request{TxHash: "0xab", ChainID: 1, View: api.ViewSummary, Report: true}, "read")
	f(rules("f", "1", "a"), api.Request{TxHash: "0xab"}, "")
	f(rules("e", "1", "a"), api.Request{TxHash: "0xab", Context: "x"}, "")
	f(rules("e", "1", "a"), api.Request{TxHash: "0xab", ChainID: 2}, "")
	rules("e", "2", "a").KeepEvidence(api.Request{TxHash: "0xab", ChainID: 1}, at, began, []byte("again"))
	f(rules("e", "1", "a"), api.Request{TxHash: "0xab"}, "again")
	if len(shelf.runs) != 1 {
		t.Errorf("%d records", len(shelf.runs))
	}
	for id := range shelf.runs {
		if _, err := runs.Recover(id); !errors.Is(err, api.ErrNoRun) {
			t.Errorf("a run: %v", err)
		}
	}
	NewKeeper(KeeperOptions{Store: s, Runs: NewRuns(shelf, KeepStreams), Evidence: "g", Log: slog.New(slog.DiscardHandler)}).
		KeepEvidence(api.Request{TxHash: "0xab"}, at, began, []byte("read"))
	f(rules("g", "1", "a"), api.Request{TxHash: "0xab"}, "")
}
