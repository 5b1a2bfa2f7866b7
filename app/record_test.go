package app_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"txlens/app"
	"txlens/engine/api"
	"txlens/engine/overlay"
	"txlens/engine/upstream"
	"txlens/testkit/fixture"
	"txlens/testkit/service"
	"txlens/testkit/stubnode"
	"txlens/transport"
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

// TestRecordNamesData: a bundle has the digest of the user's data and the names of its files, and
// nothing of their content. A replay with the data gives the bytes of the live result.
func TestRecordNamesData(t *testing.T) {
	w := service.NewWorld(t)
	own, err := overlay.Open(fstest.MapFS{
		"labels.tsv":   {Data: []byte("*\t" + sender + "\tmy secret desk\n")},
		"bad-more.tsv": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(private bool, data *overlay.Data) {
		t.Helper()
		w.Flags.Record = filepath.Join(t.TempDir(), "bundles")
		o, err := w.Flags.Options()
		if err != nil {
			t.Fatal(err)
		}
		o.Overlay, o.PrivateLabels = own, private
		a, err := app.NewAnalyst(o)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		live := service.Marshal(t, service.MustExplain(t, a, api.Request{TxHash: w.Tx.Hash}))
		if bytes.Contains(live, []byte("my secret desk")) != private {
			t.Errorf("private labels %v: the result has them: %v", private, !private)
		}
		b := bundleOf(t, w.Flags.Record, w.Tx.Hash)
		if b.Meta.Overlay != data.Digest() || !slices.Equal(b.Meta.OverlayFiles, []string{"bad-more.tsv", "labels.tsv"}) {
			t.Errorf("%+v", b.Meta)
		}
		res, err := app.ReplayOver(t.Context(), b, transport.RunSpec{}, data)
		if err != nil {
			t.Fatal(err)
		}
		if again := service.Marshal(t, res); !bytes.Equal(live, again) {
			t.Errorf("the replay differs: %s", service.FirstDifference(live, again))
		}
		if text := unpackedBundle(t, w.Flags.Record); bytes.Contains(text, []byte("secret")) || !bytes.Contains(text, []byte(w.Tx.Hash)) {
			t.Error("the bundle has a private label")
		}
	}
	f(true, own.Current())
	f(false, own.Current().Shared())
}

// unpackedBundle is the text of the one bundle in a folder.
func unpackedBundle(t *testing.T, dir string) []byte {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(dir, "*"))
	raw, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(bytes.NewReader(raw[8:])) // behind the magic
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
