package powercut

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// scriptEnv names the script that a child plays, and its folder.
const scriptEnv = "TXLENS_TEST_POWERCUT"

func TestMain(m *testing.M) {
	if name, dir, ok := strings.Cut(os.Getenv(scriptEnv), ":"); ok {
		must(os.Chdir(dir))
		scripts[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func open(path string, flag int) *os.File {
	f, err := os.OpenFile(path, flag, 0o600)
	must(err)
	return f
}

func syncFolder(path string) {
	d := open(path, os.O_RDONLY)
	must(d.Sync())
	must(d.Close())
}

// scripts are programs that change files, with and without care.
var scripts = map[string]func(){
	"synced": func() {
		f := open("old", os.O_RDWR)
		_, err := f.WriteAt([]byte(strings.Repeat("b", 5000)), 0)
		must(err)
		must(f.Sync())
		fmt.Println("synced")
	},
	"not synced": func() {
		f := open("old", os.O_RDWR)
		_, err := f.WriteAt([]byte(strings.Repeat("b", 5000)), 0)
		must(err)
		must(f.Close())
		fmt.Println("synced")
	},
	"new": func() {
		f := open("new", os.O_RDWR|os.O_CREATE)
		_, err := f.WriteString("hello")
		must(err)
		must(f.Sync())
		fmt.Println("file")
		syncFolder(".")
		fmt.Println("folder")
	},
	"replaced": func() {
		f := open("next", os.O_RDWR|os.O_CREATE)
		_, err := f.WriteString("next")
		must(err)
		must(f.Sync())
		must(os.Rename("next", "old"))
		syncFolder(".")
		fmt.Println("replaced")
	},
	"replaced without sync": func() {
		f := open("next", os.O_RDWR|os.O_CREATE)
		_, err := f.WriteString("next")
		must(err)
		must(os.Rename("next", "old"))
		syncFolder(".")
		fmt.Println("replaced")
	},
	"folders": func() {
		must(os.MkdirAll("a/b", 0o700))
		f := open("a/b/c", os.O_RDWR|os.O_CREATE)
		_, err := f.WriteString("deep")
		must(err)
		must(f.Sync())
		syncFolder("a/b")
		fmt.Println("inner")
		syncFolder("a")
		syncFolder(".")
		fmt.Println("outer")
	},
	"many threads": func() {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				f := open(fmt.Sprint("f", i), os.O_RDWR|os.O_CREATE)
				for n := range 20 {
					_, err := f.WriteAt([]byte(fmt.Sprintf("%04d", n)), int64(4*n))
					must(err)
				}
				must(f.Sync())
				must(f.Close())
				fmt.Println(i)
			})
		}
		wg.Wait()
		syncFolder(".")
		must(os.Remove("f7"))
		syncFolder(".")
		fmt.Println("all")
	},
	"fails":   func() { os.Exit(4) },
	"appends": func() { f := open("old", os.O_WRONLY|os.O_APPEND); f.WriteString("x") },
}

// record plays a script in a folder with a file "old" of 4,096 times a.
func record(t *testing.T, script string) (*Recording, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte(strings.Repeat("a", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), scriptEnv+"="+script+":"+dir)
	cmd.Stderr = os.Stderr
	rec, err := Run(dir, cmd)
	if errors.Is(err, ErrUnsupported) && os.Getenv(RequireEnv) == "" {
		t.Skip(err)
	}
	return rec, err
}

// TestCut: what was synced is there after each cut that comes later, and what was not
// is lost by some.
func TestCut(t *testing.T) {
	f := func(script, said, path string, good func(content string, err error) bool, lost bool) {
		t.Helper()
		rec, err := record(t, script)
		if err != nil {
			t.Errorf("%s: %v", script, err)
			return
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		faults, cuts := 0, 0
		for n := range 400 {
			at := rnd.IntN(rec.Len() + 1)
			if !strings.Contains(strings.Join(rec.Said(at), " "), said) {
				continue
			}
			cuts++
			to := filepath.Join(t.TempDir(), fmt.Sprint(n))
			if err := rec.Cut(to, at, rnd); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(to, path))
			if !good(string(content), err) {
				faults++
			}
		}
		if cuts == 0 || lost && faults == 0 || !lost && faults > 0 {
			t.Errorf("%s: after %d of %d cuts %s is not as it was", script, faults, cuts, path)
		}
	}
	is := func(want string) func(string, error) bool {
		return func(content string, err error) bool { return err == nil && content == want }
	}
	newer, older := strings.Repeat("b", 5000), strings.Repeat("a", 4096)
	f("synced", "synced", "old", is(newer), false)
	f("not synced", "synced", "old", is(newer), true)
	f("not synced", "synced", "old", is(older), true)
	f("not synced", "synced", "old", func(s string, _ error) bool { return s == newer || s == older }, true) // torn
	f("new", "file", "new", is("hello"), true)
	f("new", "folder", "new", is("hello"), false)
	f("replaced", "replaced", "old", is("next"), false)
	f("replaced", "", "old", func(s string, _ error) bool { return s == "next" || s == older }, false)
	f("replaced without sync", "", "old", func(s string, _ error) bool { return s == "next" || s == older }, true)
	f("folders", "inner", "a/b/c", is("deep"), true)
	f("folders", "outer", "a/b/c", is("deep"), false)
	var all strings.Builder
	for n := range 20 {
		fmt.Fprintf(&all, "%04d", n)
	}
	f("many threads", "all", "f3", is(all.String()), false)
	f("many threads", "all", "f7", func(_ string, err error) bool { return errors.Is(err, os.ErrNotExist) }, false)
}

// TestRecordOrNothing: a program that fails, or changes a file by a call that is not
// followed, is an error.
func TestRecordOrNothing(t *testing.T) {
	f := func(script, want string) {
		t.Helper()
		if _, err := record(t, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	f("fails", "exit code 4")
	f("appends", "appends to old")
}
