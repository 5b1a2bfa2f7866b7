package playbook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"txlens/engine/api"
)

// Bounds of the front matter.
const (
	maxWhen  = 300 // bytes
	maxTools = 30
)

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	toolForm = regexp.MustCompile(`^[a-z_]{1,64}$`)
)

// Parse reads one playbook: a line of three dashes, the members name, when,
// tools and, optionally, causes (names with commas between), one a line and each
// once, another line of dashes, and the body. No other syntax is understood, so that no file means
// something else than it seems to. file is what errors call it; with tools nil,
// those that are named are not looked up.
func Parse(file string, text []byte, tools []string) (*Playbook, error) {
	p := &parser{file: file}
	if len(text) > maxFile {
		return nil, p.fault(0, "%v", errLarge)
	}
	if !utf8.Valid(text) {
		return nil, p.fault(0, "it is no UTF-8")
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	end, err := p.front(lines, tools)
	if err != nil {
		return nil, err
	}
	p.book.Body = strings.TrimSpace(strings.Join(lines[end+1:], "\n"))
	if p.book.Body == "" {
		return nil, p.fault(end, "nothing follows the front matter")
	}
	return &p.book, nil
}

type parser struct {
	file string
	book Playbook
	seen []string
}

// fault names a line, counted from 0 here and from 1 there.
func (p *parser) fault(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file, line+1, fmt.Sprintf(format, args...))
}

// front reads the front matter and gives the line that ends it.
func (p *parser) front(lines []string, tools []string) (int, error) {
	if lines[0] != "---" {
		return 0, p.fault(0, "want a line of three dashes, then name, when and tools")
	}
	for i, line := range lines[1:] {
		at := i + 1
		if line == "---" {
			for _, want := range []string{"name", "when", "tools"} {
				if !slices.Contains(p.seen, want) {
					return 0, p.fault(at, "%s is missing", want)
				}
			}
			return at, nil
		}
		if line == "" && at == len(lines)-1 {
			break
		}
		if err := p.member(at, line, tools); err != nil {
			return 0, err
		}
	}
	return 0, p.fault(len(lines)-1, "the front matter does not end: want a line of three dashes")
}

func (p *parser) member(at int, line string, tools []string) error {
	key, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		return p.fault(at, "want name: value")
	case slices.Contains(p.seen, key):
		return p.fault(at, "%s stands here twice", key)
	case value == "":
		return p.fault(at, "%s is empty", key)
	}
	p.seen = append(p.seen, key)
	switch key {
	case "name":
		if !nameForm.MatchString(value) {
			return p.fault(at, "a name is a lower-case letter, then at most 39 of a-z, 0-9 and -")
		}
		p.book.Name = value
	case "when":
		if len(value) > maxWhen {
			return p.fault(at, "when is longer than %d bytes", maxWhen)
		}
		p.book.When = value
	case "tools":
		return p.tools(at, value, tools)
	case "causes":
		return p.causes(at, value)
	default:
		return p.fault(at, "want name, when, causes or tools, not %.40q", key)
	}
	return nil
}

func (p *parser) tools(at int, value string, known []string) error {
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		switch {
		case !toolForm.MatchString(name):
			return p.fault(at, "%.40q is no name of a tool", name)
		case known != nil && !slices.Contains(known, name):
			return p.fault(at, "there is no tool %s", name)
		case slices.Contains(p.book.Tools, name):
			return p.fault(at, "%s is named twice", name)
		case len(p.book.Tools) == maxTools:
			return p.fault(at, "more than %d tools", maxTools)
		}
		p.book.Tools = append(p.book.Tools, name)
	}
	return nil
}

// causes reads categories of findings.
func (p *parser) causes(at int, value string) error {
	for name := range strings.SplitSeq(value, ",") {
		c := api.Category(strings.TrimSpace(name))
		switch {
		case !slices.Contains(c.Enum(), any(c)):
			return p.fault(at, "%.40q is no category of findings", c)
		case slices.Contains(p.book.Causes, c):
			return p.fault(at, "%s is named twice", c)
		}
		p.book.Causes = append(p.book.Causes, c)
	}
	return nil
}
