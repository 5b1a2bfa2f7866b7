// Package size says how much work a long test does. A test that takes more than a few
// seconds at its full size has a small one, which notices the same mutations; go test
// runs the small size, and TXLENS_FULL=1 the full one.
package size

import "os"

// Full reports whether TXLENS_FULL=1 is set.
func Full() bool { return os.Getenv("TXLENS_FULL") == "1" }

// Of returns small, or full if TXLENS_FULL=1 is set.
func Of[T any](small, full T) T {
	if Full() {
		return full
	}
	return small
}
