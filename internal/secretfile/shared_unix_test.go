//go:build unix

package secretfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSharedWith: a secret is refused when another account can read it, and the text says who
// and what to do.
func TestSharedWith(t *testing.T) {
	dir := t.TempDir()
	accounts, groups := filepath.Join(dir, "passwd"), filepath.Join(dir, "group")
	write(t, accounts, "root:x:0:0:root:/root:/bin/sh\ntxlens:x:65532:65532::/:\nbob:x:1001:100::/:\nbroken\n", 0o644)
	write(t, groups, "root:x:0:root\nusers:x:100:\nsecrets:x:2000:txlens,root\nstaff:x:3000:txlens, bob\nbroken:x\n", 0o644)
	f := func(mode fs.FileMode, owner, group uint32, want string) {
		t.Helper()
		p := process{uid: 65532, gids: []int{2000, 3000, 100, 4000, 0, 65532}, accounts: accounts, groups: groups}
		got := p.sharedWith(mode, owner, group)
		if want == "" && got != "" || !strings.HasPrefix(got, want) || want != "" && !strings.Contains(got, "; ") {
			t.Errorf("%04o %d:%d: %q, want %q", mode, owner, group, got, want)
		}
	}
	f(0o600, 65532, 65532, "")
	f(0o400, 65532, 100, "")
	f(0o440, 0, 65532, "") // a volume of Kubernetes with fsGroup
	f(0o640, 0, 2000, "")
	f(0o440, 0, 4000, "") // a group without a name
	f(0o640, 65532, 65532, "")
	f(0o440, 0, 0, "")
	f(0o400, 0, 0, "") // it cannot be opened anyway, unless with a capability

	f(0o444, 0, 0, "every account can read it")
	f(0o604, 65532, 65532, "every account can read it")
	f(0o601, 65532, 65532, "every account can read it")
	f(0o440, 1001, 65532, "it belongs to another account (user id 1001)")
	f(0o660, 0, 65532, "its group can write it")
	f(0o440, 0, 5000, "its group (5000) is none of this process")
	f(0o440, 0, 100, "the account bob is in its group (100)")
	f(0o640, 65532, 3000, "the account bob is in its group (3000)")

	unlisted := process{uid: 65532, gids: []int{65532}, accounts: filepath.Join(dir, "none"), groups: filepath.Join(dir, "none")}
	if got := unlisted.sharedWith(0o440, 0, 65532); got != "" {
		t.Errorf("without lists of accounts: %q", got)
	}
}

// TestRead: the mode of the file counts, not that of a link to it; its text is bounded and has
// no byte order mark.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	f := func(text string, mode fs.FileMode, want, wantErr string) {
		t.Helper()
		real := filepath.Join(dir, "..data", "key")
		if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
			t.Fatal(err)
		}
		os.Remove(real)
		write(t, real, text, mode)
		link := filepath.Join(dir, "key")
		os.Remove(link)
		if err := os.Symlink(filepath.Join("..data", "key"), link); err != nil {
			t.Fatal(err)
		}
		got, err := Read(link, 8)
		if got != want || (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%q with mode %04o: %q, %v", text, mode, got, err)
		}
	}
	f("secret\n", 0o600, "secret\n", "")
	f("\ufeffab\r\n", 0o400, "ab\r\n", "")
	f("12345678", 0o600, "12345678", "")
	f("123456789", 0o600, "", "is longer than 8 bytes")
	f("secret", 0o644, "", "every account can read it")
	if _, err := Read(dir, 8); err == nil {
		t.Error("a folder is read")
	}
	if _, err := Read(filepath.Join(dir, "none"), 8); err == nil {
		t.Error("a missing file is read")
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
