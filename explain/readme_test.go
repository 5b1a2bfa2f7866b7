package explain_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeProgram: the program in the README is one, of ten lines at most in its function.
func TestReadmeProgram(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "```go\n")
	program, _, closed := strings.Cut(program, "```")
	_, body, has := strings.Cut(program, "func main() {\n")
	if !closed || !has {
		t.Fatal("README.md has no program in Go")
	}
	if n := strings.Count(body, "\n"); n > 10 {
		t.Errorf("the function of the program has %d lines", n)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "vet", file)
	cmd.Dir = ".." // the module of the program is this one
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("README.md: %v: %s", err, out)
	}
	if out, err := exec.Command("gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("README.md: gofmt: %v: %s", err, out)
	}
}
