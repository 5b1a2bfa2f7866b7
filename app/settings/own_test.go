package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"txlens/app/settings"
	script "txlens/testkit/scripted"
	"txlens/testkit/service"
)

// TestPrivateLabels: only a result for the user, made without a model, has private labels, or one
// of a user who shares them.
func TestPrivateLabels(t *testing.T) {
	dir := t.TempDir()
	row := "1\t0x00000000000000000000000000000000000000a1\tmine\n"
	if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(local, model, share, want bool) {
		t.Helper()
		e := settings.Evidence{Sources: "off", Deadline: 1}
		e.Files, e.Share = dir, share
		if model {
			e.Model = service.ScriptedModel(t, "anthropic", script.New())
		}
		if err := e.AfterApply(); err != nil {
			t.Fatal(err)
		}
		if local {
			e.Local()
		}
		o, err := e.Options()
		if err != nil {
			t.Fatal(err)
		}
		defer o.Agent.Close()
		if o.PrivateLabels != want || o.Overlay.Current().Private() != 1 {
			t.Errorf("local %v, model %v, share %v: private labels %v, want %v", local, model, share, o.PrivateLabels, want)
		}
	}
	f(false, false, false, false)
	f(true, false, false, true)
	f(true, true, false, false)
	f(false, false, true, true)
	f(false, true, true, true)
	f(true, true, true, true)
}
