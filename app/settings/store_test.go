package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"txlens/storage/stores"
)

// TestLocation: the store is that of --store, of the file that --store-file names, or the file
// in the folder of --data.
func TestLocation(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "store")
	if err := os.WriteFile(file, []byte("bolt:"+dir+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(data, where, whereFile string, want stores.Location, wantDir, fault string) {
		t.Helper()
		s := &Server{Data: Data{Dir: data}, Store: Store{Database: Database{Where: where, WhereFile: whereFile}}}
		at, in, err := s.Location()
		if fault != "" {
			if err == nil || !strings.HasPrefix(err.Error(), fault) {
				t.Errorf("%q %q %q: %v, want %s", data, where, whereFile, err, fault)
			}
			return
		}
		if err != nil || at != want || in != wantDir {
			t.Errorf("%q %q %q: %+v in %s, %v", data, where, whereFile, at, in, err)
		}
	}
	f(dir, "", "", stores.Location{Dir: dir}, dir, "")
	f("", "bolt:"+dir, "", stores.Location{Dir: dir}, dir, "")
	f(dir, "bolt:"+dir, "", stores.Location{Dir: dir}, dir, "")
	f("", "", file, stores.Location{Dir: dir}, dir, "")
	f("/other", "bolt:"+dir, "", stores.Location{}, "", "--data: ")
	f("", "bolt:"+dir, file, stores.Location{}, "", "--store-file: ")
	f("", "", filepath.Join(dir, "none"), stores.Location{}, "", "--store-file: ")
	f("", "here", "", stores.Location{}, "", "--store: ")
}
