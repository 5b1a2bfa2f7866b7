//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"txlens/testkit/service"
	"txlens/transport/callers"
)

// awaitLog waits until the log of a server has a text.
func (s *serverProcess) awaitLog(text string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(s.log.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("no %q in the log: %s", text, s.log.String())
		}
	}
}

// TestHangupReloadsCallers: SIGHUP has a server read its file of callers again, and keep the
// earlier ones if the file is wrong.
func TestHangupReloadsCallers(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	line := func(name string) (key string) {
		t.Helper()
		key, hash := callers.NewKey()
		if err := os.WriteFile(keys, []byte("\ufeff"+name+" "+hash+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return key
	}
	first := line("alice")
	s := serveProcess(t, t.TempDir(), "--keys", keys, "--rpc-only", "--rpc", "1=http://127.0.0.1:1", "--sources", "off", "--admin-listen", "off")
	f := func(key string, want int) {
		t.Helper()
		if got := s.askWithKey(key); got != want {
			t.Errorf("status %d, want %d", got, want)
		}
	}
	f(first, 400)
	second := line("bob")
	f(second, 401)
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.awaitLog("callers reloaded")
	f(second, 400)
	f(first, 401)
	if err := os.WriteFile(keys, []byte("bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.awaitLog("the callers stay as they were")
	f(second, 400)
}

// TestHangupReloadsData: SIGHUP has a server read the folder of the user's data again, and keep the
// earlier data if a file is wrong.
func TestHangupReloadsData(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const row = "1\t0x00000000000000000000000000000000000000a1\tdesk\n"
	write(row)
	s := serveProcess(t, t.TempDir(), "--data-dir", dir, "--rpc-only", "--rpc", "1=http://127.0.0.1:1", "--sources", "off", "--admin-listen", "off")
	write(row + "\n1\tnobody\tname\n")
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.awaitLog("the data of --data-dir stays as it was")
	s.awaitLog(`labels.tsv:3: `)
	write(row + "# more\n")
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.awaitLog("data of --data-dir reloaded")
	if status, _ := s.ask("POST", "/explain", `{"txHash":"none"}`); status != 400 {
		t.Errorf("status %d", status)
	}
}

// TestServerOutlivesItsLog: a server goes on when the reader of its stdout and stderr has ended.
func TestServerOutlivesItsLog(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "off", "--data", t.TempDir(), "--rpc-only", "--rpc", "1=http://127.0.0.1:1", "--sources", "off")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s := &serverProcess{t: t, cmd: cmd, log: new(service.LogBuffer)}
	t.Cleanup(s.kill)
	buf := make([]byte, 4096)
	for s.base == "" {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		s.log.Write(buf[:n])
		if m := service.ListeningAt.FindStringSubmatch(s.log.String()); m != nil {
			s.base = "http://" + m[1]
		}
	}
	r.Close()
	for range 3 { // each writes a line of the log
		if status, _ := s.ask("POST", "/explain", `{"txHash":"none"}`); status != 400 {
			t.Errorf("status %d", status)
		}
	}
}

// TestHangupOfMCP: SIGHUP does not end a server on stdin.
func TestHangupOfMCP(t *testing.T) {
	cmd := program(t, "mcp", "--sources", "off")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		cmd.Wait()
	}()
	ask := func() {
		t.Helper()
		if _, err := in.Write([]byte("hello\n")); err != nil {
			t.Fatal(err)
		}
		if n, err := out.Read(make([]byte, 4096)); err != nil || n == 0 {
			t.Fatalf("no answer: %v", err)
		}
	}
	ask()
	cmd.Process.Signal(syscall.SIGHUP)
	ask()
}

// askWithKey sends a bad request with a key and returns the status.
func (s *serverProcess) askWithKey(key string) int {
	s.t.Helper()
	req, err := http.NewRequest("POST", s.base+"/explain", strings.NewReader(`{"txHash":"none"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	web := &http.Transport{} // not the default one, which holds answers against the description of a server without keys
	defer web.CloseIdleConnections()
	resp, err := web.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
