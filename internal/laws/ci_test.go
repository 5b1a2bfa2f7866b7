package laws

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckInstallsNothing: on a machine without the tools .ci/check names each of them
// and how to install it, and only .ci/run, which CI starts, installs packages.
func TestCheckInstallsNothing(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	bin := t.TempDir()
	for _, name := range []string{"bash", "dirname", "grep"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("no %s", name)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	installed := filepath.Join(t.TempDir(), "installed")
	apt := "#!" + bash + "\necho \"$@\" >>" + installed + "\n"
	if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte(apt), 0o755); err != nil {
		t.Fatal(err)
	}
	f := func(script string, wantInstalled bool) {
		t.Helper()
		path := filepath.Join(root, ".ci", script)
		if _, err := os.ReadFile(path); err != nil { // so that a cached outcome is not used once it has changed
			t.Fatal(err)
		}
		cmd := exec.Command(bash, path)
		cmd.Env = []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: %v: %s", script, err, out)
		}
		for _, want := range []string{
			"missing: go; install it with: https://go.dev/dl", "missing: git; ", "missing: chromium; install it with: apt-get install chromium",
			"missing: an emoji font; ", "missing: systemd-analyze; ", "missing: docker-compose; ", "missing: promtool; ", "missing: node; ", "missing: npm; ",
		} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s does not say %q:\n%s", script, want, out)
			}
		}
		if strings.Contains(string(out), "gofmt") {
			t.Errorf("%s goes on although tools are missing:\n%s", script, out)
		}
		list, _ := os.ReadFile(installed)
		for _, name := range []string{"chromium", "fonts-noto-color-emoji", "systemd", "docker-compose prometheus", "nodejs npm"} {
			if strings.Contains(string(list), name) != wantInstalled {
				t.Errorf("%s: installing %s is %v: %s", script, name, !wantInstalled, list)
			}
		}
	}
	f("check", false)
	f("run", true)
}
