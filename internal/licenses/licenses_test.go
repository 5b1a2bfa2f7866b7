package licenses_test

import (
	"os/exec"
	"strings"
	"testing"

	"txlens/internal/licenses"
)

// TestLinkedModules: each module that the program links has its licence here, of the version
// that is linked.
func TestLinkedModules(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{with .Replace}}{{.Path}} {{.Version}}{{else}}{{.Path}} {{.Version}}{{end}}{{end}}{{end}}", "./cmd/txlens")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, c := range licenses.All().Components {
		known[c.Name] = c.Version
		if c.License == "" || len(c.Texts) == 0 || licenses.Of(c.Name) != c.License {
			t.Errorf("%s has the licence %q and %d texts", c.Name, c.License, len(c.Texts))
		}
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		name, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		if n++; known[name] != version {
			t.Fatalf("%s %s is linked, its licence is that of %q; run make generate", name, version, known[name])
		}
	}
	if n < 50 {
		t.Errorf("%d modules", n)
	}
	if licenses.Of("example.org/none") != "" {
		t.Error("a module that is not linked has a licence")
	}
}

// TestWrite: the text names each component and source, says how to use another go-ethereum,
// and has each licence.
func TestWrite(t *testing.T) {
	var b strings.Builder
	if err := licenses.Write(&b); err != nil {
		t.Fatal(err)
	}
	n := licenses.All()
	want := []string{n.Own, "go mod edit -replace github.com/ethereum/go-ethereum=PATH", "GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE"}
	for _, c := range n.Components {
		want = append(want, "  "+c.Name+" "+c.Version+": "+c.License+"\n")
		for _, text := range c.Texts {
			want = append(want, text.Text)
		}
	}
	for _, s := range n.Sources {
		want = append(want, "  "+s.Name+" ("+s.Origin+"): "+s.License+"\n")
		if s.License == "" {
			t.Errorf("%s has no licence", s.Name)
		}
	}
	for _, w := range want {
		if !strings.Contains(b.String(), w) {
			t.Errorf("the text lacks %.80q", w)
		}
	}
	if len(n.Sources) < 50 {
		t.Errorf("%d sources", len(n.Sources))
	}
	if _, err := licenses.Unpack([]byte("no zstd")); err == nil {
		t.Error("anything is unpacked")
	}
}
