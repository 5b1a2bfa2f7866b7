// Generate writes again every file of the repository that is made from others, and says
// which of them changed:
//
//	go run ./internal/generate
//
// It runs, in this order, the generators that "//go:generate" names, the tests that compare
// a file with what they make, with -update, and the script "generate" of each package.json.
// It finds all of them by itself: a package has such tests if they use testkit/golden. A
// test that needs something that is missing is skipped, and the reason is printed.
//
// Three things are made by hand, because another run gives other bytes, or every database
// gets what is new: the bundles of the demo (go run ./cmd/txlens/demogen), the evidence of
// the zoo (go test ./zoo -run TestZoo -args -record DIR), and the dictionary of package
// storage (go test ./app -run TestDictionary -train).
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("generate: ")
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	root, err := output(".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if err := os.Chdir(strings.TrimSpace(string(root))); err != nil {
		return err
	}
	before, err := snapshot()
	if err != nil {
		return err
	}
	// A step that fails does not hide what the others change.
	failed := errors.Join(generators(), goldenFiles(before), scripts(before))
	after, err := snapshot()
	if err != nil {
		return err
	}
	return errors.Join(failed, report(before, after))
}

// snapshot reads the files of the working tree that git does not ignore.
func snapshot() (map[string][]byte, error) {
	list, err := output(".", "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted in the working tree
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

func generators() error {
	fmt.Println("go generate ./...")
	_, err := output(".", "go", "generate", "./...")
	return err
}

// goldenFiles runs the tests that write golden files and pages.
func goldenFiles(files map[string][]byte) error {
	packages, err := goldenTests(files)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range packages {
		fmt.Printf("go test ./%s -update: %s\n", p.dir, strings.Join(p.tests, " "))
		out, err := output(".", "go", "test", "-count=1", "-v", "-run", "^("+strings.Join(p.tests, "|")+")$", "./"+p.dir, "-update")
		failed = append(failed, err)
		for _, reason := range skipped(string(out)) {
			fmt.Println("  skipped:", reason)
		}
	}
	return errors.Join(failed...)
}

// skipped lists the tests that were skipped, each with the reason that precedes its outcome.
func skipped(out string) (list []string) {
	last := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if name, found := strings.CutPrefix(line, "--- SKIP: "); found {
			name, _, _ = strings.Cut(name, " ")
			list = append(list, name+": "+last)
		}
		if !strings.HasPrefix(line, "=== ") {
			last = line
		}
	}
	return list
}

// scripts runs the script "generate" of each package of Node that has one.
func scripts(files map[string][]byte) error {
	var failed []error
	for name, text := range files {
		if filepath.Base(name) != "package.json" {
			continue
		}
		var pkg struct{ Scripts map[string]string }
		if err := json.Unmarshal(text, &pkg); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
		if pkg.Scripts["generate"] == "" {
			continue
		}
		dir := filepath.Dir(name)
		fmt.Printf("npm run generate in %s\n", dir)
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
			if os.Getenv("TXLENS_REQUIRE_NODE") != "" {
				failed = append(failed, fmt.Errorf("%s has no node_modules: run npm ci there", dir))
			}
			fmt.Printf("  skipped: %s has no node_modules; run npm ci there\n", dir)
			continue
		}
		_, err := output(dir, "npm", "run", "--silent", "generate")
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// report prints the difference between two states of the working tree.
func report(before, after map[string][]byte) error {
	dir, err := os.MkdirTemp("", "txlens-generate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	changed := changes(before, after)
	if len(changed) == 0 {
		fmt.Println("nothing changed")
		return nil
	}
	for state, files := range map[string]map[string][]byte{"before": before, "after": after} {
		if err := os.Mkdir(filepath.Join(dir, state), 0o755); err != nil {
			return err
		}
		for _, name := range changed {
			text, there := files[name]
			if !there {
				continue
			}
			file := filepath.Join(dir, state, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
		}
	}
	cmd := exec.Command("git", "diff", "--no-index", "--stat=120", "before", "after")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	fmt.Printf("%d files changed by this run:\n", len(changed))
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: there are differences
		return err
	}
	return nil
}

// changes are the names of the files that were added, removed or written.
func changes(before, after map[string][]byte) (names []string) {
	for name, text := range after {
		if old, there := before[name]; !there || !bytes.Equal(old, text) {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// output runs a command in a folder; its error has what was printed.
func output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out, nil
}
