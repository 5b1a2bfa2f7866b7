package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// equivalents are the changes that no test can notice, with the reasons.
type equivalents struct {
	reasons map[string]string
	keys    []string // in the order of the file
}

// readEquivalent reads a list: a key on one line, its reason on the next, indented.
// Empty lines and lines that begin with # are comments. A missing file is empty.
func readEquivalent(path string) (*equivalents, error) {
	e := &equivalents{reasons: map[string]string{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(line, "#"):
		case line[0] != ' ' && line[0] != '\t':
			if _, twice := e.reasons[text]; twice {
				return nil, fmt.Errorf("%s:%d: listed twice", path, n)
			}
			e.keys, e.reasons[text] = append(e.keys, text), ""
		case len(e.keys) == 0:
			return nil, fmt.Errorf("%s:%d: a reason without a change", path, n)
		default:
			last := e.keys[len(e.keys)-1]
			e.reasons[last] = strings.TrimSpace(e.reasons[last] + " " + text)
		}
	}
	for _, key := range e.keys {
		if e.reasons[key] == "" {
			return nil, fmt.Errorf("%s: no reason for %s", path, key)
		}
	}
	return e, lines.Err()
}

// reason is why no test can notice a change, empty where one can.
func (e *equivalents) reason(key string) string { return e.reasons[key] }

// stale lists the keys of the files of a package that name no change any more.
// Those of guards are looked at with guards only, and the others without.
func (e *equivalents) stale(all []mutant, guards bool) (keys []string) {
	files, there := map[string]bool{}, map[string]bool{}
	for _, m := range all {
		files[m.file], there[m.key] = true, true
	}
	for _, key := range e.keys {
		file, _, _ := strings.Cut(key, " ")
		if files[file] && !there[key] && guards == strings.Contains(key, ": guard `") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
