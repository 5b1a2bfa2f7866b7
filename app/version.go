package app

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// release is the version of the source. A build from a tagged commit uses the tag.
const release = "0.1.0"

// versionText is the version as results and logs show it.
func versionText() string {
	v, commit := Version()
	if commit == "" {
		return v
	}
	return v + "+" + commit
}

// Version returns the version of this build and the commit that the toolchain stamped,
// which is empty if there is none.
func Version() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release, ""
	}
	return stamped(info)
}

// changes follows the commit of a build from changed files.
const changes = "+changes"

// tag is a released version. For other commits the toolchain makes longer ones.
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
		commit += changes
	}
	return version, commit
}
