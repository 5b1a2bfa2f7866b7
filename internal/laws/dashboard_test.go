package laws

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

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
