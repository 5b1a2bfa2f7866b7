package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/storage"
)

// runStore runs txlens store with these arguments.
func runStore(args ...string) (code int, out, fault string) {
	var o, e bytes.Buffer
	code = run(context.Background(), append([]string{"store"}, args...), console{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

// TestStoreCommands: a database is copied, both have the same checksums, and bad arguments are
// named.
func TestStoreCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	s, err := storage.Open(a, storage.Options{})
	if err == nil {
		err = s.PutRun(job.RunRow{ID: recordid.New(), State: job.RunErrored})
	}
	if err != nil {
		t.Fatal(err)
	}
	f := func(wantCode int, want string, args ...string) string {
		t.Helper()
		code, out, fault := runStore(args...)
		if code != wantCode || !strings.Contains(out+fault, want) {
			t.Errorf("%q: exit %d\n%s%s", args, code, out, fault)
		}
		return out
	}
	f(2, "stop the server that uses it", "check", "--data", a)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first := f(0, "runs", "check", "--store", "bolt:"+a)
	if copied := f(0, "", "copy", "--from", "bolt:"+a, "--to", "bolt:"+b); copied != first {
		t.Errorf("%s, want %s", copied, first)
	}
	if second := f(0, "", "check", "--data", b); second != first {
		t.Errorf("%s, want %s", second, first)
	}
	f(0, "has the layout of this program", "migrate", "--data", b)
	f(2, "is not empty", "copy", "--from", "bolt:"+a, "--to", "bolt:"+b)
	f(2, "there is no database", "check", "--data", filepath.Join(dir, "c"))
	f(2, "--from: there is no database", "copy", "--from", "bolt:"+filepath.Join(dir, "c"), "--to", "bolt:"+filepath.Join(dir, "d"))
	f(2, "--from: name the database", "copy", "--to", "bolt:"+b)
	f(2, "--to: want bolt:DIR", "copy", "--from", "bolt:"+a, "--to", "here")
}
