package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestTablesAreCurrent makes the tables anew and compares: the committed files
// are what the generator gives, and it gives the same each time.
func TestTablesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tables"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(".", dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SOURCES.md", "tables/packages.zst", "tables/fourbyte.zst"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("engine/decode/%s is not what the generator makes (%v); run go generate ./engine/decode, or make generate", name, err)
		}
	}
}
