package app

import "testing"

// SetProgram has the servers that a test starts from now on keep results as another version of the
// program would.
func SetProgram(t testing.TB, name string) {
	before := programText
	programText = func() string { return name }
	t.Cleanup(func() { programText = before })
}
