package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"
)

// release is the version of the source. A build from a tagged commit says the tag.
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

type versionFlag bool

// BeforeReset runs ahead of the checks: --version needs no command.
func (versionFlag) BeforeReset(app *kong.Kong, c console) error {
	err := versionCmd{}.Run(c)
	app.Exit(exitComplete)
	return err
}

// build reads what the toolchain stamped; commit is empty when it did not.
func build() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release, ""
	}
	return stamped(info)
}

// tag is a released version; between two of them the toolchain makes up longer ones.
var tag = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

func stamped(info *debug.BuildInfo) (version, commit string) {
	version = release
	if tag.MatchString(info.Main.Version) {
		version = strings.TrimPrefix(info.Main.Version, "v")
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
