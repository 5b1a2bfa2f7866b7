// Package licenses holds the licences of what the program is made of: the modules that are
// linked into it on any platform, the Go library, and the sources of its embedded tables.
// The texts are collected by the generator in gen; nothing is written by hand.
package licenses

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

//go:generate go run ./gen -out texts.zst

//go:embed texts.zst
var packed []byte

// maxUnpacked bounds what texts.zst may unpack to.
const maxUnpacked = 8 << 20

// Notices is everything that the program must hand on.
type Notices struct {
	Own        string      `json:"own"` // the licence of txlens
	Components []Component `json:"components"`
	Sources    []Source    `json:"sources"`
}

// Component is a module, or the Go library.
type Component struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	License string `json:"license"` // as SPDX writes it
	Texts   []Text `json:"texts"`
}

// Text is a file of a component: its licence or its notice.
type Text struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Source is where rows of the embedded tables come from. Facts alone are taken from it:
// addresses, numbers, names, signatures.
type Source struct {
	Name    string `json:"name"`
	Origin  string `json:"origin"`
	License string `json:"license"`
}

// All returns the notices of this program. They must not be changed.
var All = sync.OnceValue(func() *Notices {
	n, err := Unpack(packed)
	if err != nil {
		panic("licenses: texts.zst: " + err.Error()) // it is part of the program
	}
	return n
})

// Unpack reads what the generator has packed.
func Unpack(b []byte) (*Notices, error) {
	d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	n := new(Notices)
	return n, json.NewDecoder(io.LimitReader(d, maxUnpacked)).Decode(n)
}

// Of is the licence of a module; empty where the module is not known.
func Of(module string) string {
	for i := range All().Components {
		if c := &All().Components[i]; c.Name == module {
			return c.License
		}
	}
	return ""
}

// relinking tells how to use another version of a library under the LGPL, which that licence
// asks for (LGPL-3.0, section 4).
const relinking = `go-ethereum is linked into this program under the GNU Lesser General Public License, version 3.
To use a changed go-ethereum, get the source of this program and that of the library, and build it again:

    go mod edit -replace github.com/ethereum/go-ethereum=PATH
    go build ./cmd/txlens

`

// Write writes the list of components and sources, and then all texts, as text for people.
func Write(w io.Writer) error {
	var b strings.Builder
	n := All()
	fmt.Fprintf(&b, "txlens is distributed under the Apache License, version 2.0, whose text is the first below.\n"+
		"It contains these components:\n\n")
	for _, c := range n.Components {
		fmt.Fprintf(&b, "  %s %s: %s\n", c.Name, c.Version, c.License)
	}
	b.WriteString("\n" + relinking)
	b.WriteString("Its tables were made from facts of these sources:\n\n")
	for _, s := range n.Sources {
		fmt.Fprintf(&b, "  %s (%s): %s\n", s.Name, s.Origin, s.License)
	}
	rule := "\n" + strings.Repeat("=", 80) + "\n"
	b.WriteString(rule + "txlens\n\n" + n.Own)
	for _, c := range n.Components {
		for _, t := range c.Texts {
			fmt.Fprintf(&b, "%s%s %s, %s\n\n%s", rule, c.Name, c.Version, t.File, t.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
