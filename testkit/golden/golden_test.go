package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told is a test that keeps what it is told.
type told struct {
	testing.TB
	errors []string
}

func (*told) Helper()      {}
func (*told) Name() string { return "TestX" }

func (x *told) Errorf(format string, args ...any) { x.errors = append(x.errors, format) }

// TestCompare: a file that differs, or is missing, fails the test and is written with
// -update; one that does not differ is left alone.
func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made", "text")
	f := func(write bool, got string, failures int, want string) {
		t.Helper()
		*update = write
		defer func() { *update = false }()
		x := &told{TB: t}
		Compare(x, file, []byte(got))
		text, err := os.ReadFile(file)
		if len(x.errors) != failures || string(text) != want || (err != nil) != (want == "") {
			t.Errorf("update %v, got %q: failures %q, the file has %q, %v", write, got, x.errors, text, err)
		}
	}
	f(false, "a\n", 1, "")
	f(true, "a\n", 0, "a\n")
	f(false, "a\n", 0, "a\n")
	f(false, "b\n", 1, "a\n")
	f(true, "b\n", 0, "b\n")
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	f(true, "b\n", 0, "b\n")
}

func TestDifference(t *testing.T) {
	f := func(got, want string, line int, g, w string) {
		t.Helper()
		if n, a, b := difference([]byte(got), []byte(want)); n != line || a != g || b != w {
			t.Errorf("%q and %q: line %d, %q, %q", got, want, n, a, b)
		}
	}
	f("", "", 0, "", "")
	f("a\nb\n", "a\nb\n", 0, "", "")
	f("a\nb\n", "a\nc\n", 2, "b\n", "c\n")
	f("a\n", "a\nb\n", 2, "", "b\n")
	f("a", "a\n", 1, "a", "a\n")
	long := strings.Repeat("x", 1000)
	f(long+"a", long+"b", 1, long[:40]+"a", long[:40]+"b")
}
