package storage

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestSecret: the first that is kept stands, over a restart and in a backup.
func TestSecret(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	f := func(dir, name, fresh, want string) {
		t.Helper()
		s := must(Open(dir, Options{}))(t)
		defer s.Close()
		got, err := s.Secret(name, []byte(fresh))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
		clear(got) // what was returned is the caller's
		if got, err := s.Secret(name, []byte("third")); err != nil || string(got) != want {
			t.Errorf("%s again: %q, %v; want %q", name, got, err, want)
		}
	}
	f(dir, "challenges", "first", "first")
	f(dir, "challenges", "second", "first")
	f(dir, "another", "second", "second")
	var file bytes.Buffer
	if _, err := BackupFile(dir, &file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, FileName), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f(copied, "challenges", "second", "first")
}
