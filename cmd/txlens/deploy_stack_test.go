package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// needTool returns the path of a program that checks a file of deploy, or skips.
func needTool(t *testing.T, name, require string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv(require) != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// TestComposeFile: Docker Compose reads the file, and every file that it mounts exists.
func TestComposeFile(t *testing.T) {
	mounts := regexp.MustCompile(`(?m)^ +- (\./[^:]+):`).FindAllStringSubmatch(deployFile(t, "compose.yaml"), -1)
	for _, m := range mounts {
		deployFile(t, m[1])
	}
	if len(mounts) != 4 {
		t.Errorf("%d files are mounted", len(mounts))
	}
	tool := needTool(t, "docker-compose", "TXLENS_REQUIRE_COMPOSE")
	if out, err := exec.Command(tool, "-f", filepath.Join("..", "..", "deploy", "compose.yaml"), "config", "--quiet").CombinedOutput(); err != nil {
		t.Errorf("docker-compose config: %v: %s", err, out)
	}
}

// TestPrometheusFile: Prometheus reads its settings.
func TestPrometheusFile(t *testing.T) {
	tool := needTool(t, "promtool", "TXLENS_REQUIRE_COMPOSE")
	if out, err := exec.Command(tool, "check", "config", filepath.Join("..", "..", "deploy", "monitoring", "prometheus.yml")).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v: %s", err, out)
	}
}

// TestDeploySettings: a variable that a file of deploy sets is one of serve.
func TestDeploySettings(t *testing.T) {
	var known []string
	for _, f := range settingsOfServe(t) {
		known = append(known, f.Envs...)
	}
	for _, file := range []string{"compose.yaml", "kubernetes.yaml"} {
		names := regexp.MustCompile(`TXLENS_[A-Z_]+`).FindAllString(deployFile(t, file), -1)
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which is no setting", file, name)
			}
		}
		if len(names) < 4 {
			t.Errorf("%s sets %q", file, names)
		}
	}
}
