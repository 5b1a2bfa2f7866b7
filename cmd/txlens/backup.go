package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"txlens/engine/explain"
	"txlens/storage"
)

type backupCmd struct {
	File  string `arg:"" type:"path" help:"File to write; it must not exist yet."`
	Admin string `name:"admin" placeholder:"URL" env:"TXLENS_ADMIN" help:"Ask the server with this admin listener, such as http://127.0.0.1:8403; default: the server that runs on the folder, if one does."`

	dataFlag `embed:""`
}

// Run copies the database, through the server that has it open if there is one. The
// file appears whole or not at all.
func (cmd *backupCmd) Run(ctx context.Context, c console) (err error) {
	if _, err := os.Lstat(cmd.File); err == nil {
		return badInput{fmt.Errorf("%s exists; name a new file", cmd.File)}
	}
	tmp, err := os.CreateTemp(filepath.Dir(cmd.File), ".txlens-backup-*")
	if err != nil {
		return badInput{fmt.Errorf("write backup: %w", err)}
	}
	defer os.Remove(tmp.Name())
	n, err := cmd.copy(ctx, tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return badInput{err}
	}
	if err := place(tmp.Name(), cmd.File); err != nil {
		return badInput{fmt.Errorf("write backup: %w", err)}
	}
	_, err = fmt.Fprintf(c.out, "%s: %d bytes\n", cmd.File, n)
	return err
}

func (cmd *backupCmd) copy(ctx context.Context, w io.Writer) (int64, error) {
	if cmd.Admin != "" {
		return fetchBackup(ctx, cmd.Admin, w)
	}
	dir, err := cmd.dir()
	if err != nil {
		return 0, err
	}
	n, err := storage.BackupFile(dir, w)
	if !errors.Is(err, storage.ErrLocked) {
		return n, err
	}
	base, there := adminOf(dir)
	if !there {
		return 0, errors.New("a server runs on the folder and has no admin listener; name it with --admin, or stop the server")
	}
	return fetchBackup(ctx, base, w)
}

// fetchBackup asks a running server for a copy.
func fetchBackup(ctx context.Context, base string, w io.Writer) (int64, error) {
	resp, err := askAdmin(ctx, base, "/backup", 0)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, resp.Body)
	if err != nil {
		return n, fmt.Errorf("read the backup of the server: %w", err)
	}
	return n, nil
}

// askAdmin makes one request to an admin listener, which must answer 200. The
// answer begins within 30 s; limit bounds it as a whole, 0 means not at all.
func askAdmin(ctx context.Context, base, path string, limit time.Duration) (*http.Response, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("want the address of an admin listener, such as http://127.0.0.1:8403")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(u.String(), "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	client := &http.Client{
		Timeout: limit,
		Transport: &http.Transport{ // no proxy: it is this machine, or the operator's own network
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, ResponseHeaderTimeout: 30 * time.Second, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("ask the server: %d: %s", resp.StatusCode, explain.OneLine(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "), 300))
	}
	return resp, nil
}

// adminFile lies beside the database while a server with an admin listener runs on
// it, and says where that listens. Who holds the lock of the database writes or
// removes it, so it speaks of the server that runs.
const adminFile = "admin.url"

func adminOf(dir string) (base string, there bool) {
	text, err := os.ReadFile(filepath.Join(dir, adminFile))
	return strings.TrimSpace(string(text)), err == nil
}

// tellAdmin says in the folder where the admin listener is; nil: there is none.
func tellAdmin(dir string, ln net.Listener) error {
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

// reachable is a URL for a listener, from this machine: one on all addresses is
// reached on loopback.
func reachable(a net.Addr) string {
	host, port, _ := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// place gives a finished file its name. A link, unlike a rename, replaces nothing
// that came meanwhile; not all file systems have links.
func place(tmp, path string) error {
	err := os.Link(tmp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(tmp, path)
}
