package storagetest

import (
	"errors"
	"time"

	"txlens/actors/job"
	"txlens/engine/api"
)

func testKept(f *fixture) {
	run := func() string {
		id := f.id()
		f.no(f.Runs.PutRun(job.RunRow{ID: id, Class: job.RunUnmeteredBlocking, State: job.RunReplayable, FinishedAt: 7, Frames: []byte("[]")}))
		return id
	}
	is := func(want job.Kept) {
		f.Helper()
		if got, err := f.Kept.Kept(want.Key); err != nil || got != want {
			f.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	none := func(keys ...job.KeptKey) {
		f.Helper()
		for _, key := range keys {
			if got, err := f.Kept.Kept(key); !errors.Is(err, api.ErrNoRun) {
				f.Errorf("%x: %+v, %v", key[0], got, err)
			}
		}
	}
	at := job.Mined{ChainID: 1 << 62, Block: [32]byte{9, 8}, Time: 1_700_000_000}
	one := job.Kept{Key: job.KeptKey{1}, Run: run(), Mined: at, CheckedAt: 5, MadeAt: 4}
	two := job.Kept{Key: job.KeptKey{2}, Run: one.Run}
	f.no(f.Kept.PutKept(one, two, job.Kept{Key: job.KeptKey{3}, Run: f.id()}))
	f.twice(func() { f.Helper(); is(one); is(two); none(job.KeptKey{3}, job.KeptKey{}) })
	if err := f.Kept.PutKept(job.Kept{Key: job.KeptKey{4}, Run: "no id"}); err == nil {
		f.Error("a run whose id has no time")
	}

	f.clock.add(time.Hour)
	one.Run, one.CheckedAt, one.Block = run(), 6, [32]byte{7} // replaces the entry, but not that of the other key
	f.no(f.Kept.PutKept(one))
	f.twice(func() { f.Helper(); is(one); is(two) })

	f.clock.add(api.RunRetention - time.Hour)
	none(two.Key)
	is(one)
	_, err := f.Expire()
	f.no(err)
	f.twice(func() { f.Helper(); none(two.Key); is(one) })
	f.clock.add(time.Hour)
	none(one.Key, two.Key)
}
