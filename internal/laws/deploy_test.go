package laws

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
	mounts := regexp.MustCompile(`(?m)^ +- (\./[^:]+):`).FindAllStringSubmatch(readPage(t, "deploy/compose.yaml"), -1)
	for _, m := range mounts {
		readPage(t, "deploy/"+m[1])
	}
	if len(mounts) != 4 {
		t.Errorf("deploy/compose.yaml mounts %d files, want 4; change the number here if one was added", len(mounts))
	}
	tool := needTool(t, "docker-compose", "TXLENS_REQUIRE_COMPOSE")
	if out, err := exec.Command(tool, "-f", filepath.Join(root, "deploy", "compose.yaml"), "config", "--quiet").CombinedOutput(); err != nil {
		t.Errorf("deploy/compose.yaml: docker-compose config: %v: %s", err, out)
	}
}

// TestPrometheusFile: Prometheus reads its settings.
func TestPrometheusFile(t *testing.T) {
	tool := needTool(t, "promtool", "TXLENS_REQUIRE_COMPOSE")
	if out, err := exec.Command(tool, "check", "config", filepath.Join(root, "deploy", "monitoring", "prometheus.yml")).CombinedOutput(); err != nil {
		t.Errorf("deploy/monitoring/prometheus.yml: promtool: %v: %s", err, out)
	}
}

// TestDashboard: the dashboard shows metrics that there are, from the source of data that
// is provided.
func TestDashboard(t *testing.T) {
	known := metrics(t)
	var board struct {
		Panels []struct {
			Title      string
			Datasource struct{ UID string }
			Targets    []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readPage(t, "deploy/monitoring/dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		if !strings.Contains(readPage(t, "deploy/monitoring/datasource.yaml"), "uid: "+p.Datasource.UID+"\n") {
			t.Errorf("the panel %s asks the source of data %q; use the uid of deploy/monitoring/datasource.yaml", p.Title, p.Datasource.UID)
		}
		for _, q := range p.Targets {
			names := regexp.MustCompile(`txlens_[a-z_]+`).FindAllString(q.Expr, -1)
			for _, name := range names {
				if !known[strings.TrimSuffix(name, "_bucket")] {
					t.Errorf("the panel %s shows %s, which transport/admin does not define; correct the name", p.Title, name)
				}
			}
			if len(names) == 0 {
				t.Errorf("the panel %s has the expression %s, without a metric of the program", p.Title, q.Expr)
			}
		}
	}
	if len(board.Panels) < 10 {
		t.Errorf("deploy/monitoring/dashboard.json has %d panels; the search finds too few", len(board.Panels))
	}
}
