package main

import (
	"regexp"
	"slices"
	"testing"
)

// TestDeploySettings: a variable that a file of deploy sets is one of serve.
func TestDeploySettings(t *testing.T) {
	var known []string
	for _, f := range settingsOfServe(t) {
		known = append(known, f.Envs...)
	}
	for _, file := range []string{"compose.yaml", "kubernetes.yaml"} {
		names := regexp.MustCompile(`TXLENS_[A-Z_]+`).FindAllString(deployFile(t, file), -1)
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("deploy/%s sets %s, but serve has no such setting; correct the name", file, name)
			}
		}
		if len(names) < 4 {
			t.Errorf("%s sets %q", file, names)
		}
	}
}
