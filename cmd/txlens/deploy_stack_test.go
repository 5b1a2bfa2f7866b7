package main

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"txlens/app/settings"
)

// TestDeploySettings: a variable that a file of deploy sets is one of serve.
func TestDeploySettings(t *testing.T) {
	var known []string
	for _, f := range settingsOfServe(t) {
		known = append(known, f.Envs...)
	}
	for _, file := range []string{"compose.yaml", "kubernetes.yaml", "pair/compose.yaml", "pair/kubernetes.yaml"} {
		text := regexp.MustCompile(`TXLENS_(DB_PASSWORD|PUBLIC|[AB](_ADMIN(_HOST)?)?)\b`).ReplaceAllString(deployFile(t, file), "") // of other programs
		names := regexp.MustCompile(`TXLENS_[A-Z_]+`).FindAllString(text, -1)
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

// TestDeployMemory: what a manifest allows is a fifth more than the memory that the server plans
// with, and the default of a container, which is half of it, is one that serve accepts.
func TestDeployMemory(t *testing.T) {
	unit := memoryIn(t, "txlens.service", `(?m)^MemoryMax=(\d+)M$`) << 20
	var plan settings.ByteSize
	m := regexp.MustCompile(`(?m)^memory-max = "(\w+)"`).FindStringSubmatch(deployFile(t, "txlens.toml"))
	if m == nil {
		t.Fatal("txlens.toml has no memory-max")
	}
	if err := plan.UnmarshalText([]byte(m[1])); err != nil {
		t.Fatal(err)
	}
	if least := int64(plan) / 5 * 6; unit < least || unit > 2*int64(plan) {
		t.Errorf("txlens.service allows %d bytes for a memory-max of %d, want at least %d and at most twice as much", unit, plan, least)
	}
	for file, limit := range map[string]int64{
		"compose.yaml":    memoryIn(t, "compose.yaml", `(?m)^ +mem_limit: (\d+)g\b`) << 30,
		"kubernetes.yaml": memoryIn(t, "kubernetes.yaml", `limits: \{memory: (\d+)Gi\}`) << 30,

		"pair/compose.yaml":    memoryIn(t, "pair/compose.yaml", `(?m)^ +mem_limit: (\d+)g\b`) << 30,
		"pair/kubernetes.yaml": memoryIn(t, "pair/kubernetes.yaml", `limits: \{memory: (\d+)Gi\}`) << 30,
	} {
		if regexp.MustCompile(`TXLENS_MEMORY_MAX|--memory-max=`).MatchString(deployFile(t, file)) {
			t.Errorf("%s sets the memory of the server; compare it with its limit here", file)
		}
		if half := limit / 2; half < 512<<20 {
			t.Errorf("%s: the server plans with %d bytes; it is to be at least 512 MiB", file, half)
		}
	}
}

// memoryIn returns the number that a pattern finds in a file of deploy.
func memoryIn(t *testing.T, file, pattern string) int64 {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(deployFile(t, file))
	if m == nil {
		t.Fatalf("%s has no limit of memory", file)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
