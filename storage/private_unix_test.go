//go:build unix

package storage

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// modesBelow are the rights of a folder and of all that is in it, by path.
func modesBelow(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		modes[path] = info.Mode().Perm()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

// TestPrivate: nobody but the owner may read the database, its folder, or what lies
// beside it for a moment, whatever the umask; also where the file was restored with
// the rights of a copy, and where it was compacted.
func TestPrivate(t *testing.T) {
	umask := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(umask) })
	private := func(what, dir string) {
		t.Helper()
		for path, mode := range modesBelow(t, dir) {
			want := fs.FileMode(0o600)
			if info := must(os.Stat(path))(t); info.IsDir() {
				want = 0o700
			}
			if mode != want {
				t.Errorf("%s: %s has mode %04o, want %04o", what, path, mode, want)
			}
		}
	}
	root := filepath.Join(t.TempDir(), "var")
	dir := filepath.Join(root, "lib")
	written(t, dir)
	private("a new database", root)

	restored := filepath.Join(t.TempDir(), "data")
	var copied bytes.Buffer
	if _, err := BackupFile(dir, &copied); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(restored, FileName), copied.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	written(t, restored)
	private("a restored database", restored)

	large := filepath.Join(t.TempDir(), "data")
	bloat(t, large)
	was := syncDir
	t.Cleanup(func() { syncDir = was })
	compacted := false
	syncDir = func(path string) error {
		compacted = true
		private("while it is compacted", large)
		return was(path)
	}
	open(t, large, Options{ExpireEvery: -1})
	private("a compacted database", large)
	if info := must(os.Stat(filepath.Join(large, FileName)))(t); !compacted || info.Size() >= minCompactSize {
		t.Errorf("it was not compacted: %d bytes", info.Size())
	}
}
