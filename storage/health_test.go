package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
)

func TestPingAndSize(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if err := s.Ping(); err != nil {
		t.Error(err)
	}
	if err := s.PutJobs(job.Row{ID: recordid.New(), Status: api.JobPending}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.db.Path())
	if err != nil {
		t.Fatal(err)
	}
	if file, live := s.Size(); file != info.Size() || live <= 0 || live > file {
		t.Errorf("size %d, %d live; the file has %d", file, live, info.Size())
	}
	s.Close()
	if err := s.Ping(); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if file, live := s.Size(); file != 0 || live != 0 {
		t.Errorf("a closed store has %d, %d", file, live)
	}
}

// TestInspect: what it says is what Open would, and it leaves all as it was.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	f := func(dir string, want error) {
		t.Helper()
		before, _ := os.ReadDir(dir)
		if err := Inspect(dir); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		if after, _ := os.ReadDir(dir); len(after) != len(before) {
			t.Errorf("it left %v", after)
		}
	}
	f(filepath.Join(dir, "none"), nil)
	f(dir, nil)
	s := open(t, dir, Options{})
	f(dir, ErrLocked)
	s.Close()
	f(dir, nil)
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, FileName), []byte("a letter to my aunt, longer than nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(foreign, ErrForeign)
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f(empty, nil)
}
