package app

import (
	"runtime/debug"
	"testing"
)

func TestStamp(t *testing.T) {
	f := func(module, revision, modified, version, commit string) {
		t.Helper()
		info := &debug.BuildInfo{Main: debug.Module{Version: module}}
		if revision != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
		}
		if v, c := stamped(info); v != version || c != commit {
			t.Errorf("%s %s: got %s, %q, want %s, %q", module, revision, v, c, version, commit)
		}
	}
	f("(devel)", "", "", release, "")
	f("", "", "", release, "")
	f("v1.2.3", "abc", "false", "1.2.3", "abc")
	f("v1.2.3+dirty", "abc", "true", release, "abc+changes")
	f("v0.0.0-20261121204246-1392d09d15cb", "abc", "false", release, "abc")
}
