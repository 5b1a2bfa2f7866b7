package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealth: the listener that is asked is the one that flags, the environment or the file of
// settings of the server name, in this order; without an admin listener it is the public one.
func TestHealth(t *testing.T) {
	listener := func(path, answer string) (base, address string) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			io.WriteString(w, answer)
		}))
		t.Cleanup(s.Close)
		return s.URL, strings.TrimPrefix(s.URL, "http://")
	}
	adminURL, admin := listener("/readyz", "ready\nwarning: disk\n")
	publicURL, public := listener("/health", `{"status":"ok"}`)
	const ready, alive = "ready\nwarning: disk\n", "alive\n"
	f := func(code int, want, file string, env map[string]string, args ...string) {
		t.Helper()
		if file != "" {
			t.Setenv("TXLENS_CONFIG", settingsIn(t, file))
		} else {
			t.Setenv("TXLENS_CONFIG", "")
		}
		for _, name := range []string{"TXLENS_LISTEN", "TXLENS_ADMIN_LISTEN"} {
			t.Setenv(name, env[name])
		}
		got, out, errOut := command(t, "", append([]string{"health"}, args...)...)
		if got != code || code == exitComplete && out != want || code != exitComplete && !strings.Contains(errOut, want) {
			t.Errorf("%s, %v, %q: exit %d, %q %s", file, env, args, got, out, errOut)
		}
	}
	none := map[string]string{}
	other := "max-jobs = 3\nbase-url = \"https://example.org/x\"\n"
	f(exitComplete, ready, "", none, adminURL)
	f(exitComplete, ready, "", none, adminURL+"/readyz")
	f(exitComplete, alive, "", none, publicURL+"/health")
	f(exitComplete, ready, "", map[string]string{"TXLENS_ADMIN_LISTEN": admin})
	f(exitComplete, alive, "", map[string]string{"TXLENS_ADMIN_LISTEN": "off", "TXLENS_LISTEN": public})
	f(exitComplete, ready, other+`admin-listen = "`+admin+`"`, none)
	f(exitComplete, alive, other+"admin-listen = \"off\"\nlisten = \""+public+`"`, none)
	f(exitComplete, ready, `admin-listen = "off"`, map[string]string{"TXLENS_ADMIN_LISTEN": admin})
	f(exitComplete, alive, `listen = "`+public+`"`, map[string]string{"TXLENS_ADMIN_LISTEN": "off"})
	f(exitComplete, ready, `admin-listen = "off"`, none, "--admin-listen", admin)
	f(exitComplete, ready, "", none, "--config", settingsIn(t, `admin-listen = "`+admin+`"`))
	f(exitFault, "418", `admin-listen = "`+public+`"`, none)
	f(exitBadInput, `"admin" is no setting`, `admin = "off"`, none)
	f(exitBadInput, "--config", "", none, "--config", filepath.Join(t.TempDir(), "none"))
}

// TestReachable: an address on all addresses is asked at the loopback address.
func TestReachable(t *testing.T) {
	f := func(listen, want string) {
		t.Helper()
		if got := reachable(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
	f("127.0.0.1:8403", "127.0.0.1:8403")
	f("0.0.0.0:8403", "localhost:8403")
	f(":8403", "localhost:8403")
	f("[::]:8403", "localhost:8403")
	f("[::1]:8403", "[::1]:8403")
	f("10.0.0.7:8403", "10.0.0.7:8403")
	f("txlens:8403", "txlens:8403")
}
