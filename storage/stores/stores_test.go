package stores_test

import (
	"path/filepath"
	"strings"
	"testing"

	"txlens/storage/stores"
)

// TestParse: what is refused is not repeated, because it may contain a password.
func TestParse(t *testing.T) {
	dir := t.TempDir()
	if at, err := stores.Parse("bolt:" + dir); err != nil || at != (stores.Location{Dir: dir}) {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := stores.Parse("bolt:data"); err != nil || !filepath.IsAbs(at.Dir) || filepath.Base(at.Dir) != "data" {
		t.Errorf("%+v, %v", at, err)
	}
	for _, text := range []string{"", "bolt:", "mysql://hidden@host/db", "hidden", "/var/lib/hidden", "Postgres://hidden"} {
		if at, err := stores.Parse(text); err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "bolt:") {
			t.Errorf("%q: %+v, %v", text, at, err)
		}
	}
}

// TestFile: a file is opened, seen as in use, and has room.
func TestFile(t *testing.T) {
	at := stores.Location{Dir: t.TempDir()}
	if inUse, err := stores.Inspect(t.Context(), at); inUse || err != nil {
		t.Errorf("%t, %v", inUse, err)
	}
	s, err := stores.Open(t.Context(), at, stores.Options{MaxBytes: 64_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if inUse, err := stores.Inspect(t.Context(), at); !inUse || err != nil {
		t.Errorf("while it is open: %t, %v", inUse, err)
	}
	if s.Server != nil || s.Space.Room() != nil || s.Space.Usage().Max != 64_000_000 || s.Ping() != nil {
		t.Errorf("%+v", s.Space.Usage())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Ping() == nil {
		t.Error("a closed store answers")
	}
}
