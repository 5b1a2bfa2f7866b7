package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// adminFile lies beside the database while a server with an admin listener runs on it,
// and holds the URL of that listener. Only the process that holds the lock of the
// database writes or removes it.
const adminFile = "admin.url"

// AdminURL returns the URL of the admin listener of the server that runs on a data
// folder, if there is one.
func AdminURL(dir string) (base string, found bool) {
	text, err := os.ReadFile(filepath.Join(dir, adminFile))
	return strings.TrimSpace(string(text)), err == nil
}

// writeAdminURL writes the URL of the admin listener into the data folder, or removes it
// if there is no listener.
func writeAdminURL(dir string, ln net.Listener) error {
	path := filepath.Join(dir, adminFile)
	if ln == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the address of an admin listener: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(path, []byte(reachable(ln.Addr())+"\n"), 0o600); err != nil {
		return fmt.Errorf("write down the address of the admin listener: %w", err)
	}
	return nil
}

// reachable is the URL of a listener from this machine. A listener on all addresses is
// reached on loopback.
func reachable(a net.Addr) string {
	host, port, _ := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}
