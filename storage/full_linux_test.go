package storage

import (
	"errors"
	"os/signal"
	"syscall"
	"testing"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
)

// TestDiskFull: a file that cannot grow costs the writes that need it to, and
// nothing else; with room again they are taken.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{ExpireEvery: -1})
	big := func() job.Row {
		row := newJob(recordid.New())
		row.Status, row.Result = api.JobComplete, noise(rnd, 1<<20)
		return row
	}
	first := big()
	if err := s.PutJobs(first); err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // then the write returns EFBIG
	t.Cleanup(func() { signal.Reset(syscall.SIGXFSZ) })
	limit := was
	limit.Cur = 24 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) })
	taken, refused := []job.Row{first}, 0
	for range 60 {
		row := big()
		switch err := s.PutJobs(row); {
		case err == nil && refused == 0:
			taken = append(taken, row)
		case err != nil && !errors.Is(err, ErrBroken): // bbolt hides that it is EFBIG
			refused++
			if _, err := s.Job(row.ID); !errors.Is(err, api.ErrNoJob) {
				t.Errorf("what was refused is there: %v", err)
			}
		case err != nil:
			t.Fatalf("%v", err)
		}
	}
	if refused == 0 || len(taken) < 5 {
		t.Errorf("%d taken, %d refused", len(taken), refused)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		row := big()
		if err := s.PutJobs(row); err != nil {
			t.Fatalf("with room again: %v", err)
		}
		taken = append(taken, row)
	}
	check(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	for _, row := range taken {
		if got, err := s.Job(row.ID); err != nil || len(got.Result) != len(row.Result) {
			t.Errorf("%s: %v", row.ID, err)
		}
	}
}
