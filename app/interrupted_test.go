package app_test

import (
	"net/http"
	"strings"
	"testing"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/service"
)

// TestInterruptedJobIsCredited: a job that was interrupted twice has no result, so what it
// collected is credited and is not captured.
func TestInterruptedJobIsCredited(t *testing.T) {
	s := service.NewSeller(t)
	id := s.Order(0, s.Open(4*service.Dollar, 3*meter.Cent)).Taken(t).JSON(t)["jobId"].(string)
	s.Eventually("the job has ended", func() bool {
		return !strings.Contains(s.Ask("GET", "/result/"+id, "", "", "").Body, "is running")
	})
	s.Stop()
	store := s.OpenStore(t)
	row, err := store.Jobs.Job(id)
	if err != nil {
		t.Fatal(err)
	}
	bill, err := store.Bill(id)
	if err != nil || bill.Collected != tempo.AmountFrom(meter.Cent) {
		t.Fatalf("%+v, %v", bill, err)
	}
	row = job.Row{ID: id, Status: api.JobRunning, Attempts: 2, Request: row.Request}
	bill.Final, bill.Price = false, tempo.Amount{}
	if err := store.Jobs.PutJobs(row); err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(channel.Entry{Bill: &bill}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	got := s.Ask("GET", "/result/"+id, "", "", "").Is(t, http.StatusOK).JSON(t)
	if got["status"] != "error" || got["errorCode"] != api.CodeInterrupted {
		t.Errorf("%v", got)
	}
	if got := s.Manage(s.Closing(s.Paid)); got.Status != http.StatusNoContent || !s.Row().Captured.IsZero() {
		t.Errorf("close: %d, captured %s", got.Status, s.Row().Captured)
	}
}
