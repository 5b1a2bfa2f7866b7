//go:build race

package main

// raceEnabled: bounds of time and memory mean nothing under the race detector.
const raceEnabled = true
