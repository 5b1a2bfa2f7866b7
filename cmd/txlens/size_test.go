package main

import (
	"strings"
	"testing"
	"txlens/app/settings"
)

func TestByteSize(t *testing.T) {
	f := func(text string, want int64, ok bool) {
		t.Helper()
		var b settings.ByteSize
		if err := b.UnmarshalText([]byte(text)); int64(b) != want || (err == nil) != ok {
			t.Errorf("%q: %d, %v", text, int64(b), err)
		}
		var again settings.ByteSize
		if err := again.UnmarshalText([]byte(b.String())); ok && (err != nil || again != b) {
			t.Errorf("%q is shown as %q", text, b)
		}
	}
	f("0", -1, true)
	f("0GB", -1, true)
	f("500MB", 500_000_000, true)
	f("20GB", 20_000_000_000, true)
	f("1000TB", 1e15, true)
	f("1001TB", 0, false)
	f("9223372036854775807GB", 0, false)
	f("", 0, false)
	f("MB", 0, false)
	f("-1GB", 0, false)
	f("20", 0, false)
	f("20G", 0, false)
	f("1.5GB", 0, false)
}

// TestSizeIsShown: the check of the settings shows a size as it is written.
func TestSizeIsShown(t *testing.T) {
	f := func(given, want string) {
		t.Helper()
		args := []string{"serve", "--check", "--data", t.TempDir()}
		if given != "" {
			args = append(args, "--data-max", given)
		}
		_, out, _ := command(t, "", args...)
		line, _, _ := strings.Cut(out[max(0, strings.Index(out, "data-max")):], "\n")
		if got := strings.Join(strings.Fields(line), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("1000MB", "data-max 1GB flag")
	f("0", "data-max 0 flag")
	f("", "data-max - default")
}
