package main

import "testing"

func TestByteSize(t *testing.T) {
	f := func(text string, want int64, ok bool) {
		t.Helper()
		var b byteSize
		if err := b.UnmarshalText([]byte(text)); int64(b) != want || (err == nil) != ok {
			t.Errorf("%q: %d, %v", text, b, err)
		}
	}
	f("0", 0, true)
	f("0GB", 0, true)
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
