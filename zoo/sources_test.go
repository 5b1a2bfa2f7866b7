package zoo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"sync"
	"testing"
)

// sources are compiled once for all tests of a process.
var sources = sync.OnceValues(compileSources)

// compiled gives a contract of the folder contracts.
func compiled(tb testing.TB, name string) *artefact {
	tb.Helper()
	all, err := sources()
	if err != nil {
		tb.Fatal(err)
	}
	a := all[name]
	if a == nil {
		tb.Fatalf("no contract is called %s", name)
	}
	return a
}

// compileSources runs the compiler, or takes what it once made of the same sources.
func compileSources() (map[string]*artefact, error) {
	sum, err := sumOfSources()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(os.TempDir(), "txlens-zoo-"+sum+".json")
	doc, err := os.ReadFile(kept)
	if err != nil {
		cmd := exec.Command("node", "compile.mjs")
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		if doc, err = cmd.Output(); err != nil {
			return nil, fmt.Errorf("compile contracts: %w: %s", err, complaints.Bytes())
		}
		// Whole or not at all: another process may be reading.
		if os.WriteFile(kept+".new", doc, 0o600) == nil {
			_ = os.Rename(kept+".new", kept)
		}
	}
	return readSources(doc)
}

// sumOfSources identifies what the compiler would read: sources, script, versions.
func sumOfSources() (string, error) {
	files, err := filepath.Glob("contracts/*.sol")
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	h := sha256.New()
	for _, name := range append(files, "compile.mjs", "package-lock.json") {
		doc, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read source: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(doc), doc)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func readSources(doc []byte) (map[string]*artefact, error) {
	var raw map[string]struct {
		ABI      json.RawMessage `json:"abi"`
		Bytecode string          `json:"bytecode"`
	}
	if err := json.Unmarshal(doc, &raw); err != nil {
		return nil, fmt.Errorf("read compiled contracts: %w", err)
	}
	all := map[string]*artefact{}
	for name, r := range raw {
		a, err := newArtefact(r.ABI, r.Bytecode)
		if err != nil {
			return nil, fmt.Errorf("read contract %s: %w", name, err)
		}
		all[name] = a
	}
	return all, nil
}
