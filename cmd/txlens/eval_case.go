package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"txlens/engine/api"
	"txlens/engine/upstream"
)

// evalCase is one recorded transaction with what a good analysis says of it. A file
// NAME.toml describes it:
//
//	bundle  = "swap.txlens"          # a path below the folder of the file
//	context = "what did I get?"      # of the request; optional
//
//	[expect]                         # at least one of these; each lists what is accepted
//	txType   = ["swap"]
//	protocol = ["uniswap_v3", ""]    # "" is: none
//	victim   = ["0x..."]             # all of them must be victims of findings
//	category = ["reentrancy"]        # of a finding that is no consequence of another
type evalCase struct {
	Bundle  string     `toml:"bundle"`
	Context string     `toml:"context"`
	Expect  evalExpect `toml:"expect"`

	name   string
	bundle *upstream.Bundle
}

type evalExpect struct {
	TxType   []api.TxType   `toml:"txType"`
	Protocol []string       `toml:"protocol"`
	Victim   []string       `toml:"victim"`
	Category []api.Category `toml:"category"`
}

// Bounds of a folder of cases.
const (
	maxCases    = 10_000
	maxCaseFile = 64 << 10
)

// readCases reads all *.toml files of a folder, sorted by name. It returns an error if one
// of them is wrong, before any case is run.
func readCases(dir string) ([]*evalCase, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the cases: %w", err)
	}
	var cases []*evalCase
	for _, e := range entries { // sorted by name
		if e.IsDir() || filepath.Ext(e.Name()) != ".toml" {
			continue
		}
		if len(cases) == maxCases {
			return nil, fmt.Errorf("read the cases: more than %d in %s", maxCases, dir)
		}
		c, err := readCase(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("read the cases: no *.toml in %s", dir)
	}
	return cases, nil
}

func readCase(path string) (*evalCase, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a case: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCaseFile+1))
	if err != nil {
		return nil, fmt.Errorf("read a case: %w", err)
	}
	c, err := parseCase(text)
	if err != nil {
		return nil, fmt.Errorf("%s%w", path, err)
	}
	c.name = strings.TrimSuffix(filepath.Base(path), ".toml")
	if c.bundle, err = upstream.ReadBundle(filepath.Join(filepath.Dir(path), c.Bundle)); err != nil {
		return nil, fmt.Errorf("%s: bundle: %w", path, err)
	}
	return c, nil
}

// parseCase reads the text of a case. Its errors begin with ":LINE: " or ": ".
func parseCase(text []byte) (*evalCase, error) {
	if len(text) > maxCaseFile {
		return nil, fmt.Errorf(": it is larger than %d KiB", maxCaseFile>>10)
	}
	c := new(evalCase)
	dec := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := dec.Decode(c); err != nil {
		return nil, tomlError(err)
	}
	switch e := c.Expect; {
	case c.Bundle == "":
		return nil, errors.New(": bundle is missing")
	case !filepath.IsLocal(c.Bundle):
		return nil, fmt.Errorf(": bundle: %q is not below the folder of the case", c.Bundle)
	case len(c.Context) > api.MaxContext:
		return nil, fmt.Errorf(": context is longer than %d bytes", api.MaxContext)
	case len(e.TxType)+len(e.Protocol)+len(e.Victim)+len(e.Category) == 0:
		return nil, errors.New(": expect has none of txType, protocol, victim, category")
	}
	return c, c.Expect.check()
}

// tomlError formats the error of a decoder in one line with its place.
func tomlError(err error) error {
	var at *toml.DecodeError
	var unknown *toml.StrictMissingError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		row, _ := unknown.Errors[0].Position()
		return fmt.Errorf(":%d: %q is no member of a case", row, strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &at):
		row, _ := at.Position()
		return fmt.Errorf(":%d: %w", row, err)
	}
	return fmt.Errorf(": %w", err)
}

// check returns an error for values that no result can have.
func (e *evalExpect) check() error {
	for _, v := range e.TxType {
		if !slices.Contains(v.Enum(), any(v)) {
			return fmt.Errorf(": expect.txType: %q is no type", v)
		}
	}
	for _, v := range e.Category {
		if !slices.Contains(v.Enum(), any(v)) {
			return fmt.Errorf(": expect.category: %q is no category", v)
		}
	}
	for i, v := range e.Victim {
		var a api.Addr
		if err := a.UnmarshalText([]byte(v)); err != nil {
			return fmt.Errorf(": expect.victim: %q is no address", v)
		}
		e.Victim[i] = a.String()
	}
	for _, v := range e.Protocol {
		if v != strings.ToLower(strings.TrimSpace(v)) {
			return fmt.Errorf(": expect.protocol: %q is no slug", v)
		}
	}
	return nil
}
