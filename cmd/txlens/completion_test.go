package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompletionBash: bash completes commands, flags, values and nothing else.
func TestCompletionBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	code, script, errOut := command(t, "", "completion", "bash")
	if code != exitComplete || errOut != "" {
		t.Fatalf("exit %d, %q", code, errOut)
	}
	f := func(want, not string, line ...string) {
		t.Helper()
		cmd := exec.Command(bash, "--norc", "-c", script+`
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _txlens; printf '%s\n' "${COMPREPLY[@]}"`, "bash")
		cmd.Args = append(cmd.Args, line...)
		out, err := cmd.CombinedOutput()
		got := strings.Fields(string(out))
		if err != nil || want != "" && !slices.Contains(got, want) || not != "" && slices.Contains(got, not) || want == "" && len(got) > 0 {
			t.Errorf("%q: %v, want %q and not %q: %q", line, err, want, not, got)
		}
	}
	f("explain", "--json", "txlens", "ex")
	f("doctor", "balance", "txlens", "")
	f("--csv", "--listen", "txlens", "explain", "--")
	f("--listen", "--csv", "txlens", "serve", "--l")
	f("transfers", "explain", "txlens", "explain", "--csv", "")
	f("balance", "explain", "txlens", "wallet", "")
	f("--key-file", "--listen", "txlens", "wallet", "balance", "--")
	f("zsh", "", "txlens", "completion", "z")
	f("", "", "txlens", "explain", "--context", "")
	f("", "", "txlens", "explain", "nonsense")
}

// TestCompletionSyntax: zsh and fish read their scripts, where they are installed.
func TestCompletionSyntax(t *testing.T) {
	f := func(shell string, every ...string) {
		t.Helper()
		code, script, errOut := command(t, "", "completion", shell)
		if code != exitComplete || errOut != "" {
			t.Fatalf("%s: exit %d, %q", shell, code, errOut)
		}
		for _, words := range every {
			if !strings.Contains(script, words) {
				t.Errorf("%s lacks %q", shell, words)
			}
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed", shell)
			return
		}
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path, "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v: %s", shell, err, out)
		}
	}
	f("zsh", "_txlens_explain()", "_txlens_wallet_balance()", "--csv=", "(transfers balances calls events)", "#compdef txlens")
	f("fish", "-l csv", "-a 'transfers balances calls events'", "__fish_seen_subcommand_from wallet; and __fish_seen_subcommand_from balance")
	if code, _, errOut := command(t, "", "completion", "csh"); code != exitBadInput || !strings.Contains(errOut, "bash") {
		t.Errorf("csh: exit %d, %q", code, errOut)
	}
}

// TestCompletionFish: fish offers what the script has.
func TestCompletionFish(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish")
	}
	_, script, _ := command(t, "", "completion", "fish")
	file := filepath.Join(t.TempDir(), "txlens.fish")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(line, want, not string) {
		t.Helper()
		cmd := exec.Command(fish, "--no-config", "-c", "source "+file+"; complete -C '"+line+"'")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) || strings.Contains(string(out), not) {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	f("txlens ex", "explain", "balance")
	f("txlens wallet ", "balance", "explain")
	f("txlens explain --csv ", "transfers", "--json")
	f("txlens explain --cs", "--csv", "--listen")
}

// TestMan: the page has every command and flag, and mandoc finds nothing wrong with it.
func TestMan(t *testing.T) {
	code, page, errOut := command(t, "", "man")
	if code != exitComplete || errOut != "" {
		t.Fatalf("exit %d, %q", code, errOut)
	}
	k, err := newParser(new(commands))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range k.Model.Leaves(true) {
		if !strings.Contains(page, ".SS txlens "+roff(leaf.Path())+"\n") {
			t.Errorf("no section of %q", leaf.Path())
		}
		for _, f := range leaf.Flags {
			if name := "\\-\\-" + roff(f.Name); !strings.Contains(page, name) && f.Name != "help" {
				t.Errorf("no %s of %q", f.Name, leaf.Path())
			}
		}
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	lint := exec.Command(mandoc, "-Tlint", "-Wwarning")
	lint.Stdin = strings.NewReader(page)
	out, _ := lint.CombinedOutput() // its exit code tells of warnings
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "missing date") { // the page has none, so that it is the same on every day
			t.Error(line)
		}
	}
}
