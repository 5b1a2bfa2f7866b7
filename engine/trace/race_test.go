//go:build race

package trace_test

// The race detector makes parsing some ten times slower, and here is one goroutine.
func init() { manyFrames, forests = 200_000, 60 }
