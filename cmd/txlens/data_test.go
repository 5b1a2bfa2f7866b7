package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"txlens/engine/chain"
	"txlens/engine/overlay"
	"txlens/engine/upstream"
)

// ownExample writes the files that docs/your-own-data.md shows into a folder.
func ownExample(t *testing.T) (dir, shown string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/your-own-data.md")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	files := regexp.MustCompile("(?s)\n`([a-z_./]+)`:\n\n```[a-z]+\n(.*?)```\n").FindAllStringSubmatch(string(text), -1)
	if len(files) != 7 {
		t.Fatalf("the document shows %d files, want one of each kind", len(files))
	}
	for _, m := range files {
		path := filepath.Join(dir, m[1])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(m[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, shown, _ = strings.Cut(string(text), "```shown\n")
	shown, _, _ = strings.Cut(shown, "```")
	return dir, shown
}

// TestOwnDataExample: the example of the document does what the document says.
func TestOwnDataExample(t *testing.T) {
	dir, shown := ownExample(t)
	const bundle = "demo/1-swap.txlens"
	f := func(wantCode int, args []string, want ...string) {
		t.Helper()
		code, out, errs := runOwn(t, args...)
		if code != wantCode {
			t.Errorf("%q: exit code %d, want %d: %s", args, code, wantCode, errs)
		}
		for _, w := range want {
			no, absent := strings.CutPrefix(w, "!")
			if found := strings.Contains(flat(out+errs), no); found == absent {
				t.Errorf("%q: contains %q: %v\n%s%s", args, no, found, out, errs)
			}
		}
	}
	f(exitComplete, []string{"data", "check", dir}, "7 files, no faults")
	f(exitComplete, []string{"data", "list", dir}, "labels.tsv labels 2", "abis/vault.json abis 1", "2 private labels; digest ")
	f(exitComplete, []string{"data", "diff", dir}, "+ label 0xbe74Daf7D4cF072C86BA0C76b3a328F80c75e6dd on every chain: my treasury",
		"~ token 0x51FE2E572e97BFEB1D719809d743Ec2675924EDc on ethereum-mainnet: vPAD, 18 decimals, was VPAD, 18 decimals",
		"+ chain 777777: Localnet (localnet)", "+ protocol my_dex: My Dex, 1 contracts, 1 declarations", "+ incident 0x8787")
	f(exitComplete, []string{"replay", "--data-dir", dir, bundle}, append(strings.Split(strings.TrimSpace(shown), "\n"),
		"is on a list of bad addresses that the user keeps (user: bad.tsv)", "My Dex: Router", "recorded without --data-dir")...)
	f(exitComplete, []string{"replay", bundle}, "!my treasury", "!recorded without")
	f(exitComplete, []string{"replay", "--data-dir", dir, "--json", bundle}, `"my treasury"`, `"labelSource":"user: ops wiki"`, "Swap of the drill", "user: incidents.tsv")

	report := filepath.Join(t.TempDir(), "r.html")
	f(exitComplete, []string{"replay", "--data-dir", dir, "--html", report, bundle}, "!my treasury", "swap desk", "private labels (2) are left out")
	page, err := os.ReadFile(report)
	if err != nil || strings.Contains(string(page), "my treasury") || !strings.Contains(string(page), "swap desk") {
		t.Errorf("the report has private labels, or lacks the others (%v)", err)
	}
	f(exitComplete, []string{"replay", "--data-dir", dir, "--csv", "transfers", bundle}, "!my treasury", "swap desk")
	f(exitComplete, []string{"replay", "--data-dir", dir, "--csv", "transfers", "--share-labels", bundle}, "my treasury", "!left out")
}

// TestOwnDataFaults: a fault stops the command, and its line names the place.
func TestOwnDataFaults(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte("\n1\t0x12\tname\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(args []string, want ...string) {
		t.Helper()
		code, out, errs := runOwn(t, args...)
		if code != exitBadInput {
			t.Errorf("%q: exit code %d", args, code)
		}
		for _, w := range want {
			if !strings.Contains(out+errs, w) {
				t.Errorf("%q lacks %q:\n%s%s", args, w, out, errs)
			}
		}
	}
	two := []string{`labels.tsv:2: "0x12" is no address`, "labels.tsv:3: it has 1 columns"}
	f([]string{"data", "check", dir}, append(two, "2 faults")...)
	f([]string{"data", "list", dir}, two...)
	f([]string{"data", "diff", dir}, two...)
	f([]string{"replay", "--data-dir", dir, "demo/1-swap.txlens"}, two...)
	f([]string{"serve", "--data-dir", dir, "--check"}, two...)
	f([]string{"replay", "--data-dir", filepath.Join(dir, "none"), "demo/1-swap.txlens"}, "--data-dir: ")
}

// TestOverlayDiffers: a replay says how its data is not that of the recorded analysis.
func TestOverlayDiffers(t *testing.T) {
	read := func(text string) *overlay.Data {
		t.Helper()
		d, err := overlay.Read(fstest.MapFS{"labels.tsv": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one, two := read("# one\n"), read("# two\n")
	f := func(recorded, now *overlay.Data, want string) {
		t.Helper()
		got := overlayDiffers(upstream.Meta{Overlay: recorded.Digest(), OverlayFiles: []string{"a.tsv", "b.tsv"}}, now)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(nil, nil, "")
	f(one, one, "")
	f(one.Shared(), one.Shared(), "")
	f(nil, one, "recorded without --data-dir;")
	f(one, nil, "recorded with --data-dir (a.tsv, b.tsv);")
	f(one, two, "other data than that of --data-dir (a.tsv, b.tsv);")
	f(one.Shared(), two, "other data than")
	f(one, one.Shared(), "other rules for its private labels;")
}

// runOwn runs a command whose data may add chains, which it removes again.
func runOwn(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	defer chain.Extend(nil)
	var o, e bytes.Buffer
	code = run(t.Context(), args, console{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

// flat is a text with single blanks in place of line breaks and rows of blanks.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }
