package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCallbackFlags: what is wrong is said with the flag, and the secret in no message.
func TestCallbackFlags(t *testing.T) {
	file := func(text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	f := func(says string, args ...string) {
		t.Helper()
		code, out, errOut := command(t, "", append([]string{"serve", "--check", "--data", t.TempDir()}, args...)...)
		if (says == "") != (code == exitComplete) || !strings.Contains(errOut, says) || strings.Contains(out+errOut, good[6:]) {
			t.Errorf("%q: exit %d, %q", args, code, errOut)
		}
	}
	const allow = "--callback-allow"
	f("", allow, "https://hooks.example.org", "--callback-secret-file", file(good, 0o600))
	f("--callback-allow needs --callback-secret-file", allow, "https://hooks.example.org")
	f("--callback-secret-file: name whom to call", "--callback-secret-file", file(good, 0o600))
	f("want scheme and host alone", allow, "https://hooks.example.org/path", "--callback-secret-file", file(good, 0o600))
	f("want whsec_", allow, "https://hooks.example.org", "--callback-secret-file", file(good[6:], 0o600))
	f("chmod 600", allow, "https://hooks.example.org", "--callback-secret-file", file(good, 0o644))
	f("no such file", allow, "https://hooks.example.org", "--callback-secret-file", filepath.Join(t.TempDir(), "none"))
}
