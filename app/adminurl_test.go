package app

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestAdminFile: the token is readable for the owner alone, also where an earlier file was
// not, and the file of an earlier version has none.
func TestAdminFile(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, adminFile)
	base := "http://" + ln.Addr().String()
	f := func(text string, want AdminAccess) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, found := FindAdmin(dir); got != want || !found {
			t.Errorf("%q: %+v, %v; want %+v", text, got, found, want)
		}
	}
	f(base+"\n", AdminAccess{URL: base})
	f(base, AdminAccess{URL: base})
	f(base+"\nabc\n", AdminAccess{base, "abc"})
	f(base+"\r\nabc\r\n", AdminAccess{base, "abc"})
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeAdminFile(dir, ln, "secret"); err != nil {
		t.Fatal(err)
	}
	if got, found := FindAdmin(dir); got != (AdminAccess{base, "secret"}) || !found {
		t.Errorf("written: %+v, %v", got, found)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("files: %v", list)
	}
	if err := writeAdminFile(dir, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, found := FindAdmin(dir); found {
		t.Error("the file remains")
	}
}
