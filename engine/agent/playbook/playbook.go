// Package playbook holds what an analyst knows about kinds of transactions: which
// tool to look with, in which order, what proves a suspicion and what refutes it.
// Playbooks are Markdown with a front matter; rules propose them, the model
// engages them, and an operator may add his own.
package playbook

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"txlens/engine/agent/llm"
	"txlens/engine/api"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Playbook is one of them.
type Playbook struct {
	Name  string   // [a-z][a-z0-9-]*, at most 40 characters
	When  string   // one line: which transactions it is for
	Tools []string // that it tells to use
	// Causes are the categories of findings that it helps to judge; nil: none in particular.
	Causes []api.Category
	Body   string // Markdown
	Own    bool   // of the operator's folder
}

// Library is all of them, by name. It is immutable.
type Library struct {
	books map[string]*Playbook
	names []string
}

//go:embed playbooks/*.md
var embedded embed.FS

// Bounds of an operator's folder.
const (
	maxFiles = 100
	maxFile  = 32 << 10 // bytes
)

// Open reads the embedded playbooks, and over them those of dir, which may be
// empty: a file there adds a playbook or replaces the one of its name. A file that
// cannot be read, or names a tool that is not in tools, is an error with file and
// line.
func Open(dir string, tools []string) (*Library, error) {
	l := &Library{books: map[string]*Playbook{}}
	own, err := fs.Sub(embedded, "playbooks")
	if err != nil {
		return nil, fmt.Errorf("open playbooks: %w", err)
	}
	if err := l.read(own, "playbooks", tools, false); err != nil {
		return nil, err
	}
	if dir != "" {
		if err := l.read(os.DirFS(dir), dir, tools, true); err != nil {
			return nil, err
		}
	}
	for name := range l.books {
		l.names = append(l.names, name)
	}
	slices.Sort(l.names)
	return l, nil
}

// read takes all *.md files of a folder; others are passed over.
func (l *Library) read(from fs.FS, where string, tools []string, own bool) error {
	entries, err := fs.ReadDir(from, ".")
	if err != nil {
		return fmt.Errorf("read playbooks: %w", err)
	}
	in := map[string]string{} // name to file: two of one name in one folder would depend on the order
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".md" {
			continue
		}
		file := path.Join(where, e.Name())
		if len(in) == maxFiles {
			return fmt.Errorf("read playbooks: more than %d files in %s", maxFiles, where)
		}
		text, err := readFile(from, e.Name())
		if err != nil {
			return fmt.Errorf("read playbook %s: %w", file, err)
		}
		p, err := Parse(file, text, tools)
		if err != nil {
			return err
		}
		if other := in[p.Name]; other != "" {
			return fmt.Errorf("%s: the name %s is that of %s, too", file, p.Name, other)
		}
		in[p.Name], p.Own = file, own
		l.books[p.Name] = p
	}
	return nil
}

var errLarge = fmt.Errorf("it is larger than %d KiB", maxFile>>10)

// readFile reads no more than a playbook may have.
func readFile(from fs.FS, name string) ([]byte, error) {
	f, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is no plain file"))
	}
	buf := make([]byte, maxFile+1)
	n := 0
	for n < len(buf) {
		m, err := f.Read(buf[n:])
		n += m
		if err != nil {
			break
		}
	}
	if n > maxFile {
		return nil, errLarge
	}
	return buf[:n], nil
}

// Get gives a playbook.
func (l *Library) Get(name string) (Playbook, bool) {
	p, ok := l.books[name]
	if !ok {
		return Playbook{}, false
	}
	return *p, true
}

// Names lists all, sorted.
func (l *Library) Names() []string { return slices.Clone(l.names) }

// EngageTool is the name of the tool by which the model engages a playbook.
const EngageTool = "engage_playbook"

// Tool describes EngageTool: the same bytes for the same library.
func (l *Library) Tool() llm.Tool {
	var list strings.Builder
	for _, name := range l.names {
		fmt.Fprintf(&list, "\n- %s: %s", name, l.books[name].When)
	}
	names, _ := json.Marshal(l.names) // a list of plain strings
	schema := `{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string","enum":` + string(
		names,
	) + `}}}`
	return llm.Tool{
		Name:        EngageTool,
		Description: "Gives the playbook for a kind of transaction: what to look at in which order, what proves and what refutes it. Engage one when its case may apply; several are allowed." + list.String(),
		Schema:      jsontext.Value(schema),
	}
}

// Engaged reads the input of EngageTool. Its errors tell the model what to do.
func (l *Library) Engaged(input jsontext.Value) (Playbook, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(input), &in, json.RejectUnknownMembers(true)); err != nil {
		return Playbook{}, fmt.Errorf("%s wants {\"name\": one of %s}", EngageTool, strings.Join(l.names, ", "))
	}
	p, ok := l.Get(in.Name)
	if !ok {
		return Playbook{}, fmt.Errorf("there is no such playbook: name must be one of %s", strings.Join(l.names, ", "))
	}
	return p, nil
}
