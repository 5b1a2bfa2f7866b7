package job

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"txlens/actors/recordid"
	"txlens/engine/api"
)

// TestSubmittedTwice: a job whose id is submitted again while it runs or waits runs once, and
// takes one place.
func TestSubmittedTwice(t *testing.T) {
	var runs atomic.Int64
	started, release := make(chan struct{}, 4), make(chan struct{})
	j := startJobs(t, Options{Store: newShelf(), Running: 1, Queue: 8, Analyst: analyst(func(context.Context, api.Request) (*api.Result, error) {
		runs.Add(1)
		started <- struct{}{}
		<-release
		return &api.Result{}, nil
	})})
	running, waiting := recordid.New(), recordid.New()
	put := func(id string) {
		t.Helper()
		if err := j.SubmitAs(id, ask); err != nil {
			t.Fatal(err)
		}
	}
	put(running)
	<-started
	put(running)
	put(waiting)
	put(waiting)
	close(release)
	await(t, j, running, api.JobComplete)
	await(t, j, waiting, api.JobComplete)
	for end := time.Now().Add(30 * time.Second); j.load.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d places are taken", j.load.Load())
		}
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("%d analyses of two jobs", n)
	}
}
