//go:build race

package service

// RaceEnabled: bounds of time and memory mean nothing under the race detector.
const RaceEnabled = true
