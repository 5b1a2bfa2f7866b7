package size_test

import (
	"testing"

	"txlens/testkit/size"
)

func TestOf(t *testing.T) {
	f := func(value string, want int) {
		t.Helper()
		t.Setenv("TXLENS_FULL", value)
		if got := size.Of(1, 2); got != want {
			t.Errorf("TXLENS_FULL=%q: size %d, want %d", value, got, want)
		}
	}
	f("", 1)
	f("0", 1)
	f("1", 2)
}
