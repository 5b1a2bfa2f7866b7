package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"txlens/testkit/golden"
)

func settingsOfServe(t testing.TB) []*kong.Flag {
	t.Helper()
	node, err := serveNode()
	if err != nil {
		t.Fatal(err)
	}
	return settingsOf(node)
}

// TestSettingsHaveThreeNames: each flag of serve has its variable and its key, says
// what it does, and is masked where it may hold a key.
func TestSettingsHaveThreeNames(t *testing.T) {
	node, err := serveNode()
	if err != nil {
		t.Fatal(err)
	}
	settings := settingsOf(node)
	for _, f := range node.Flags {
		known := slices.ContainsFunc(settings, func(s *kong.Flag) bool { return s.Name == f.Name })
		if known == slices.Contains(unsettable, f.Name) {
			t.Errorf("--%s is in both lists or in none", f.Name)
		}
	}
	secret := regexp.MustCompile(`key|token|secret|password|url|^rpc$`)
	for _, f := range settings {
		if want := "TXLENS_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")); !slices.Equal(f.Envs, []string{want}) {
			t.Errorf("--%s has the variables %q, want %s", f.Name, f.Envs, want)
		}
		if f.Help == "" {
			t.Errorf("--%s says nothing", f.Name)
		}
		if secret.MatchString(f.Name) && f.Tag.Get("secret") == "" {
			t.Errorf("--%s is shown unmasked", f.Name)
		}
	}
}

// settingsTable is the table of docs/operating.md.
func settingsTable(flags []*kong.Flag) string {
	var b strings.Builder
	b.WriteString("| flag of `serve`, and key of the file | environment | default | what it does |\n|---|---|---|---|\n")
	for _, f := range flags {
		name := "`--" + f.Name
		if f.PlaceHolder != "" && f.Default == "" {
			name += " " + f.PlaceHolder
		}
		value := "none"
		switch {
		case strings.Contains(f.Help, "default"):
			value = "" // the text says which
		case f.Default != "":
			value = "`" + f.Default + "`"
		case f.IsBool():
			value = "`false`"
		}
		fmt.Fprintf(&b, "| %s` | `%s` | %s | %s |\n", name, f.Envs[0], value, strings.ReplaceAll(strings.TrimSuffix(f.Help, "."), "|", "\\|"))
	}
	return b.String()
}

// TestDocsHaveAllSettings: the table is made from the flags. After a change of
// those, run it with -update.
func TestDocsHaveAllSettings(t *testing.T) {
	const begin, end = "<!-- settings: made by go test ./cmd/txlens -run Settings -update -->\n", "<!-- end of settings -->"
	path := filepath.Join("..", "..", "docs", "operating.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("docs/operating.md has no table of settings; put it between %q and %q", begin, end)
	}
	golden.Compare(t, path, []byte(before+begin+settingsTable(settingsOfServe(t))+end+after))
}

func settingsIn(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "txlens.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPrecedence: a flag goes before the environment, that before the file, and
// that before the default.
func TestPrecedence(t *testing.T) {
	path := settingsIn(t, "max-jobs = 2\nmax-analyses = 2\njob-queue = 2\n")
	t.Setenv("TXLENS_MAX_JOBS", "3")
	t.Setenv("TXLENS_JOB_QUEUE", "3")
	f := func(args ...string) {
		t.Helper()
		code, out, errOut := command(t, "", append([]string{"serve", "--check", "--data", t.TempDir(), "--job-queue", "4"}, args...)...)
		if code != exitComplete {
			t.Fatalf("exit %d, %s", code, errOut)
		}
		for _, want := range []string{
			`max-analyses +2 +file ` + regexp.QuoteMeta(path), `max-jobs +3 +environment TXLENS_MAX_JOBS`, `job-queue +4 +flag`, `grace +30s +default`,
		} {
			if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(out) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	f("--config", path)
	t.Setenv("TXLENS_CONFIG", path)
	f()
}

// TestSettingsOfEveryKind: what a file can say is what the flags can.
func TestSettingsOfEveryKind(t *testing.T) {
	path := settingsIn(t, `
listen = "127.0.0.1:9000"
rpc = ["1=http://a.example", "base-mainnet=http://b.example/key"]
rpc-only = true
deadline = "90s"
"log-format" = "json"
[call-price]
rpc = 0
eth_call = "12"
`)
	code, out, errOut := command(t, "", "serve", "--check", "--data", t.TempDir(), "--config", path)
	for _, want := range []string{
		"listen +127.0.0.1:9000 ", "rpc +1=http://a.example, base-mainnet=http://b.example/… ", "rpc-only +true ", "deadline +1m30s ", "log-format +json ", "call-price +eth_call=12, rpc=0 ",
	} {
		if code != exitComplete || !regexp.MustCompile(`(?m)^`+want).MatchString(out) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, out, errOut)
		}
	}
}

// TestSettingsRefused: each with the file, the line, and the key or what was wrong
// with its value.
func TestSettingsRefused(t *testing.T) {
	f := func(text string, wants ...string) {
		t.Helper()
		path := settingsIn(t, text)
		code, out, errOut := command(t, "", "serve", "--data", t.TempDir(), "--config", path)
		if code != exitBadInput || out != "" || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%q: exit %d, %s%s", text, code, out, errOut)
		}
		for _, want := range wants {
			if !strings.Contains(errOut, strings.ReplaceAll(want, "FILE", path)) {
				t.Errorf("%q: %s lacks %q", text, errOut, want)
			}
		}
	}
	f("listen = \"127.0.0.1:0\"\n\n# note\nmax_jobs = 3\n", `FILE:4: "max_jobs" is no setting`)
	f("a = 1\nb = 2\n", `FILE:1: "a" is no setting`)
	f("[call-price]\nrpc = 0\n[server]\nlisten = \"x\"\n", `FILE:3: "server" is no setting`)
	f("quick = true\nconfig = \"other\"\n", `FILE:2: "config" is no setting`)
	f("check = true\n", `FILE:1: "check" is no setting`)
	f("max-jobs = 3\nmax-jobs = 4\n", "FILE:2:")
	f("max-jobs =\n", "FILE:1:")
	f("max-jobs = \"many\"\n", "--max-jobs", "FILE:1:", "many")
	f("\nmax-jobs = 1.5\n", "--max-jobs", "FILE:2:")
	f("max-jobs = true\n", "--max-jobs", "FILE:1:", "true or false")
	f("max-jobs = [\"1\"]\n", "--max-jobs", "FILE:1:")
	f("quick = 1\n", "--quick", "FILE:1:")
	f("grace = 30\n", "--grace", "FILE:1:", `"30s"`)
	f("grace = \"soon\"\n", "--grace", "FILE:1:")
	f("rpc = \"1=http://x\"\n", "--rpc", "FILE:1:", "list of strings")
	f("rpc = [1]\n", "--rpc", "FILE:1:")
	f("call-price = 3\n", "--call-price", "FILE:1:")
	f("listen = 2026-01-01\n", "--listen", "FILE:1:")
	f("log-level = \"loud\"\n", "--log-level must be one of")
	f("max-jobs = 0\n", "--max-jobs: must be at least 1")
	f(strings.Repeat("# much\n", 160_000), "larger than 1 MiB")
	if code, _, errOut := command(t, "", "serve", "--config", filepath.Join(t.TempDir(), "none")); code != exitBadInput || !strings.Contains(errOut, "--config") {
		t.Errorf("exit %d, %s", code, errOut)
	}
}

// TestConfigIsOfServeAlone: the variable that names a file does not make other
// commands read it.
func TestConfigIsOfServeAlone(t *testing.T) {
	t.Setenv("TXLENS_CONFIG", filepath.Join(t.TempDir(), "none"))
	if code, _, errOut := command(t, "", "chains"); code != exitComplete {
		t.Errorf("exit %d, %s", code, errOut)
	}
}

// FuzzSettings: no file makes the reader fall over, and what it takes has only
// known keys.
func FuzzSettings(f *testing.F) {
	flags := settingsOfServe(f)
	for _, seed := range []string{"", "listen = \"x\"\n", "[call-price]\nrpc = 0\n", "a.b = 1\n", "\"\\u00e9\" = [[1], {x = 1}]\n", "rpc = [\n\"a\",\n]\nquick = true # x", "[[rpc]]\nx = 1", "= 1", "listen = '''\nmax-jobs = 1\n'''"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSettings("f", data, flags)
		if err != nil {
			return
		}
		for key := range s.values {
			if s.lines[key] < 1 {
				t.Errorf("%q stands on no line", key)
			}
		}
		for _, flag := range flags {
			s.Resolve(nil, nil, flag)
		}
	})
}

func TestMasked(t *testing.T) {
	f := func(secret, text, want string) {
		t.Helper()
		if got := maskOne(secret, text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("all", "k3y", "(hidden)")
	f("", "plain", "plain")
	f("url", "https://user:k3y@node.example/v3/k3y?key=k3y", "https://node.example/…")
	f("url", "https://node.example/", "https://node.example")
	f("url", "https://node.example?k3y", "https://node.example/…")
	f("url", "k3y", "(hidden)")
	f("store", "bolt:/var/lib/txlens", "bolt:/var/lib/txlens")
	f("store", "postgres://user:k3y@db.example:5432/books?sslmode=k3y", "postgres://db.example:5432/…")
	f("store", "host=db password=k3y", "(hidden)")
	f("endpoint", "1=https://node.example/k3y", "1=https://node.example/…")
	f("endpoint", "https://node.example/k3y", "(hidden)")
}
