//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"txlens/testkit/service"
)

// TestPrivateFiles: what the program writes that holds secrets, money or what callers
// asked is for its owner alone, whatever the umask: the data folder of a server, its
// backups, a restored database, the wallet of a payer.
func TestPrivateFiles(t *testing.T) {
	umask := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(umask) })
	files := 0
	private := func(root string) {
		t.Helper()
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if files++; d.IsDir() {
				want = 0o700
				files--
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A seller writes its secret into the data folder first; the folder is the test's.
	s := service.NewSeller(t, "--admin-listen", "127.0.0.1:0")
	os.Chmod(s.Data, 0o700)
	c := newCustomer(t, s, 100)
	c.dir = filepath.Join(t.TempDir(), "wallet")
	c.wallet(exitComplete, nil, "open")
	private(s.Data)
	private(c.dir)
	private(c.keyFile)

	copies := t.TempDir()
	os.Chmod(copies, 0o700)
	live, still := filepath.Join(copies, "live.db"), filepath.Join(copies, "still.db")
	if code, _, errOut := command(t, "", "backup", "--data", s.Data, live); code != exitComplete {
		t.Fatal(errOut)
	}
	s.Stop()
	if code, _, errOut := command(t, "", "backup", "--data", s.Data, still); code != exitComplete {
		t.Fatal(errOut)
	}
	private(copies)

	// As cp restores a file: with the rights that the umask leaves.
	restored := filepath.Join(t.TempDir(), "restored")
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(live)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(restored, "txlens.db"), content, 0o666); err != nil {
		t.Fatal(err)
	}
	_, stop := service.StartUntil(t, s.World, append(s.Args(), "--data", restored)...)
	private(restored)
	stop()
	fresh := filepath.Join(t.TempDir(), "state", "txlens")
	_, stop = service.StartUntil(t, s.World, "--admin-listen", "127.0.0.1:0", "--data", fresh)
	private(filepath.Dir(fresh))
	stop()
	if files < 9 {
		t.Errorf("only %d files were looked at", files)
	}
}
