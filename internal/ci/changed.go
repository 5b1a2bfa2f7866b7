package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// lanes are the parts of .ci/check that run only where a change can break what they
// prove, with the beginnings of the paths that they depend on.
var lanes = []struct {
	name     string
	prefixes []string
}{
	{"node", []string{"transport/", "engine/mpp/", "engine/report/", "clients/", "zoo/", "e2e/", "testkit/"}},
	{"postgres", []string{"storage/", "actors/", "app/", "testkit/"}},
	{"release", []string{"deploy/", "cmd/", "internal/sbom/"}},
}

// needsAll are the beginnings of the paths whose change can break any lane.
var needsAll = []string{".ci/", "go.mod", "go.sum", "Makefile", "internal/ci/"}

// known are the beginnings of all paths of which it is known which lanes they need.
var known = []string{
	"app/", "actors/", "bench/", "clients/", "cmd/", "deploy/", "docs/", "e2e/", "engine/", "internal/", "storage/", "testkit/", "transport/", "zoo/",
	"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", ".gitignore", ".dockerignore", "staticcheck.conf",
}

// lanesFor lists the lanes that a change of the files needs: all of them if there is no
// file, or one that no rule knows.
func lanesFor(files []string) (need []string) {
	has := func(prefixes []string, file string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(file, p) })
	}
	all := len(files) == 0 || slices.ContainsFunc(files, func(file string) bool { return has(needsAll, file) || !has(known, file) })
	for _, lane := range lanes {
		if all || slices.ContainsFunc(files, func(file string) bool { return has(lane.prefixes, file) }) {
			need = append(need, lane.name)
		}
	}
	return need
}

// changedFiles are the files of the work tree that differ from those of a commit, with
// files that git does not track, by their paths below the root.
func changedFiles(base string) ([]string, error) {
	diff, err := gitLines("diff", "--name-only", "-z", "--no-renames", base, "--")
	if err != nil {
		return nil, err
	}
	untracked, err := gitLines("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	files := append(diff, untracked...)
	slices.Sort(files)
	return slices.Compact(files), nil
}

func gitLines(args ...string) ([]string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), func(s string) bool { return s == "" }), nil
}
