//go:build !race

package service

// RaceEnabled reports whether the race detector runs. Bounds of time and memory mean
// nothing under it.
const RaceEnabled = false
