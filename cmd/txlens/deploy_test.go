package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func deployFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnit: systemd takes the unit as it is, and gives the server the time that it
// may need to stop.
func TestUnit(t *testing.T) {
	unit := deployFile(t, "txlens.service")
	m := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(unit)
	if m == nil {
		t.Fatal("no TimeoutStopSec")
	}
	patience, _ := time.ParseDuration(m[1] + "s")
	for _, f := range settingsOfServe(t) {
		if f.Name != "grace" {
			continue
		}
		grace, err := time.ParseDuration(f.Default)
		if err != nil || patience < grace+15*time.Second {
			t.Errorf("systemd kills after %s, the grace period is %s, %v", patience, grace, err)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		missing := t.Skipf
		if os.Getenv("TXLENS_REQUIRE_SYSTEMD") != "" {
			missing = t.Fatalf
		}
		missing("systemd-analyze is not there: %v", err)
	}
	dir := t.TempDir()
	bin, path := filepath.Join(dir, "txlens"), filepath.Join(dir, "txlens.service")
	if err := os.WriteFile(bin, []byte("#!/bin/true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(unit, "/usr/local/bin/txlens", bin)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v: %s", err, out)
	}
}

// TestImage: the image names settings that there are, and its last stage starts
// from nothing.
func TestImage(t *testing.T) {
	file := deployFile(t, "Dockerfile")
	known := map[string]bool{}
	for _, f := range settingsOfServe(t) {
		known[f.Envs[0]] = true
	}
	names := regexp.MustCompile(`TXLENS_[A-Z_]+`).FindAllString(file, -1)
	for _, name := range names {
		if !known[name] {
			t.Errorf("%s is no setting", name)
		}
	}
	_, last, _ := strings.Cut(file, "\nFROM scratch\n")
	if len(names) == 0 || last == "" || strings.Contains(last, "RUN ") || !strings.Contains(last, "\nUSER 65532") {
		t.Errorf("the last stage is\n%s", last)
	}
}

// TestSettingsToBeginWith: the file that comes with the unit is good as it is, and
// when its comments are taken at their word.
func TestSettingsToBeginWith(t *testing.T) {
	text := deployFile(t, "txlens.toml")
	all := regexp.MustCompile(`(?m)^# (rpc|\[)`).ReplaceAllString(text, "$1")
	if all == text {
		t.Error("no setting is commented out")
	}
	for _, text := range []string{text, all} {
		if code, _, errOut := command(t, "", "serve", "--check", "--data", t.TempDir(), "--config", settingsIn(t, text)); code != exitComplete {
			t.Errorf("exit %d, %s", code, errOut)
		}
	}
}
