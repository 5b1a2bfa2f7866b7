package main

import (
	"strings"
	"testing"
)

// TestHelp: the help of a command with many flags shows the common ones, --help-all shows
// all of them in groups, and what --help leaves out is counted.
func TestHelp(t *testing.T) {
	f := func(cmd string, common []string, rare []string, groups ...string) {
		t.Helper()
		code, short, errOut := command(t, "", cmd, "--help")
		if code != exitComplete || errOut != "" {
			t.Fatalf("%s --help: exit %d, %q", cmd, code, errOut)
		}
		code, long, errOut := command(t, "", cmd, "--help-all")
		if code != exitComplete || errOut != "" {
			t.Fatalf("%s --help-all: exit %d, %q", cmd, code, errOut)
		}
		for _, name := range common {
			if !strings.Contains(short, " --"+name) || !strings.Contains(long, " --"+name) {
				t.Errorf("%s: --%s is not in both", cmd, name)
			}
		}
		for _, name := range rare {
			if strings.Contains(short, "--"+name+"=") || !strings.Contains(long, "--"+name+"=") {
				t.Errorf("%s: --%s is common, or nowhere", cmd, name)
			}
		}
		for _, title := range groups {
			if !strings.Contains(long, "\n"+title+"\n") {
				t.Errorf("%s --help-all has no group %q", cmd, title)
			}
		}
		if more := " more flags: txlens " + cmd + " --help-all\n"; strings.Contains(short, more) != (len(rare) > 0) {
			t.Errorf("%s --help ends with %q", cmd, short[max(len(short)-80, 0):])
		}
	}
	f("explain", []string{"chain", "context", "model", "json", "view", "html", "parallel", "quiet", "rpc", "provider", "server", "help-all"},
		[]string{"llama-url", "model-budget", "max-charge"}, "Where the evidence comes from:", "Language model:", "Buying the analysis from a server:")
	f("serve", []string{"listen", "config", "data", "rpc", "provider"}, []string{"admin-listen", "settle-rpc", "llama-url"}, "Operating:", "Selling analyses:")
	f("replay", []string{"json"}, nil)
}
