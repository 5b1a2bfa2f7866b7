package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"txlens/engine/fixture"
)

// TestTablesAreCurrent makes the tables anew and compares: the committed files
// are what the generator gives, and it gives the same each time.
func TestTablesAreCurrent(t *testing.T) {
	data, dir := fixture.Data(t), t.TempDir()
	for _, sub := range []string{"gen", "tables"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	curated, err := os.ReadFile("curated.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gen", "curated.txt"), curated, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(data, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SOURCES.md", "tables/curated.zst", "tables/packages.zst", "tables/fourbyte.zst"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes (%v)", name, err)
		}
	}
}
