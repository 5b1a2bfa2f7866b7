package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"txlens/app"
	"txlens/engine/api"
	"txlens/engine/upstream"
	"txlens/testkit/fixture"
	"txlens/testkit/service"
	"txlens/testkit/stubnode"
)

// TestRecordKeepsToItself: bundles are for their owner, leave out what the caller wrote unless
// it is asked for, and a second one of a transaction does not replace the first.
func TestRecordKeepsToItself(t *testing.T) {
	hash := fixture.Blocks(t)[0].Txs[0].Hash
	f := func(keep bool, want string) {
		t.Helper()
		flags := service.RecordedNodes(t, stubnode.Options{})
		flags.Record, flags.RecordContext = filepath.Join(t.TempDir(), "bundles"), keep
		a := service.NewAnalyst(t, flags)
		for range 2 {
			service.MustExplain(t, a, api.Request{TxHash: hash, Context: "my secret plan"})
		}
		if info, err := os.Stat(flags.Record); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v", info.Mode(), err)
		}
		for _, end := range []string{app.BundleSuffix, "-2" + app.BundleSuffix} {
			list, _ := filepath.Glob(filepath.Join(flags.Record, "*"+hash+end))
			if len(list) != 1 {
				t.Fatalf("%s: %q", end, list)
			}
			if info, err := os.Stat(list[0]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", list[0], info.Mode(), err)
			}
			if b, err := upstream.ReadBundle(list[0]); err != nil || b.Meta.Context != want {
				t.Errorf("%s: context %q, %v; want %q", list[0], b.Meta.Context, err, want)
			}
		}
	}
	f(false, "")
	f(true, "my secret plan")
}
