package main

import (
	"fmt"
	"runtime/debug"
)

// release is the version of the source; a build from a tagged module says its own.
const release = "0.1.0"

type versionCmd struct{}

// Run prints version and commit.
func (versionCmd) Run(c console) error {
	v, commit := build()
	if commit == "" {
		commit = "unknown"
	}
	_, err := fmt.Fprintf(c.out, "txlens %s, commit %s\n", v, commit)
	return err
}

// build reads what the toolchain stamped; commit is empty when it did not.
func build() (version, commit string) {
	version = release
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, ""
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if commit != "" && dirty {
		commit += "+changes"
	}
	return version, commit
}
