package dice

import (
	"fmt"
	"strings"
	"testing"
)

// recorder keeps what a test would log.
type recorder struct {
	*testing.T
	log, fatal string
}

func (r *recorder) Logf(format string, args ...any)   { r.log += fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.fatal += fmt.Sprintf(format, args...) }

func TestSeed(t *testing.T) {
	t.Setenv(Env, "")
	first := &recorder{T: t}
	seed := Seed(first)
	if first.log != fmt.Sprintf("TXLENS_SEED=%d", seed) {
		t.Errorf("the log says %q of seed %d", first.log, seed)
	}
	t.Setenv(Env, "12")
	if a, b := New(&recorder{T: t}).Uint64(), New(&recorder{T: t}).Uint64(); a != b || Seed(t) != 12 {
		t.Errorf("one seed gives %d and %d", a, b)
	}
	if Stream(12, 0).Uint64() == Stream(12, 1).Uint64() || Stream(12, 0).Uint64() == New(t).Uint64() {
		t.Error("two streams of one seed are the same")
	}
	for rnd := New(t); ; {
		if d := UpTo(rnd, 3); d < 0 || d >= 3 {
			t.Errorf("%d", d)
		} else if d == 2 {
			break
		}
	}
	t.Setenv(Env, "x")
	wrong := &recorder{T: t}
	if Seed(wrong); !strings.Contains(wrong.fatal, "is no seed") {
		t.Errorf("%q", wrong.fatal)
	}
}
