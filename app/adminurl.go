package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"txlens/internal/durable"
)

// adminFile lies beside the database while a server with an admin listener runs on it, and
// holds the URL of that listener and, in a second line, its token. Only the process that holds
// the lock of the database in the folder writes or removes it; where the database is a server, the
// folder is that of one process, which may still wait for the database.
const adminFile = "admin.url"

// AdminAccess says how to reach an admin listener.
type AdminAccess struct {
	URL   string
	Token string // empty: the listener of an earlier version, which needs none
}

// FindAdmin returns how to reach the admin listener of the server that runs on a data folder,
// if there is one.
func FindAdmin(dir string) (a AdminAccess, found bool) {
	text, err := os.ReadFile(filepath.Join(dir, adminFile))
	base, token, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return AdminAccess{strings.TrimSpace(base), strings.TrimSpace(token)}, err == nil
}

// writeAdminFile writes the URL of the admin listener and its token into the data folder, or
// removes the file if there is no listener.
func writeAdminFile(dir string, ln net.Listener, token string) error {
	path := filepath.Join(dir, adminFile)
	if ln == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the address of an admin listener: %w", err)
		}
		return nil
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil { // a server with another store has not made it
		return fmt.Errorf("make the data folder: %w", err)
	}
	// A file that is written in place would keep the mode, and the readers, of the earlier one.
	if err := durable.ReplaceFile(path, []byte(reachable(ln.Addr())+"\n"+token+"\n")); err != nil {
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
