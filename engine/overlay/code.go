package overlay

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"txlens/engine/decode"
	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// abi reads the ABI of a contract, or an artifact that has one.
func (r *reader) abi(text string) {
	a, err := decode.ParseABI([]byte(text))
	if err != nil {
		r.faults.add(r.file, jsonLine(text, err), err.Error())
		return
	}
	r.total += len(a.Methods) + len(a.Events) + len(a.Errors)
	r.signatures().AddABI(a, r.source())
}

// jsonLine is the line of an error; the first one where the error tells no place.
func jsonLine(text string, err error) int {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return 1 + strings.Count(text[:min(int(e.ByteOffset), len(text))], "\n")
	}
	return 1
}

// protocolSlug is what a file of a protocol may be called.
var protocolSlug = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// protocol reads a file in the format of package protocol.
func (r *reader) protocol(text string) {
	slug := strings.TrimSuffix(path.Base(r.file), ".txt")
	switch {
	case !protocolSlug.MatchString(slug):
		r.faults.add(r.file, 0, "the name of the file has other characters than a to z, 0 to 9 and _")
		return
	case protocol.Find(slug) != nil:
		r.faults.add(r.file, 0, "the program has a protocol of that name; take another one")
		return
	}
	p, err := protocol.Parse(slug, strings.ReplaceAll(text, "\r\n", "\n"), r.bySlug)
	if err != nil {
		line := 0
		if e, ok := errors.AsType[*protocol.ParseError](err); ok {
			line, err = e.Line, e.Err
		}
		r.faults.add(r.file, line, err.Error())
		return
	}
	r.total += len(p.Contracts) + len(p.Signatures)
	r.protocols = append(r.protocols, p)
	r.signatures().AddProtocol(p, r.source())
	r.contracts(p)
}

// contracts adds the labels of a protocol.
func (r *reader) contracts(p *protocol.Protocol) {
	for i := range p.Contracts {
		c := &p.Contracts[i]
		if c.Unlabelled {
			continue
		}
		x := class{category: c.Category, source: r.source(), confidence: label.Curated}
		if p.Kind != protocol.Group {
			x.slug = p.Slug
		}
		chains := c.Chains
		if chains == nil {
			chains = []uint64{0}
		}
		err := words("name", c.Name, label.MaxName)
		for _, id := range chains {
			if err == nil {
				err = r.put(c.Name, x, origin{place{id, c.Address}, r.nth, int32(c.Line)})
			}
		}
		if err != nil {
			r.faults.add(r.file, c.Line, err.Error())
		}
	}
}

// register makes the rules of all protocols.
func (r *reader) register() {
	if len(r.protocols) == 0 {
		return
	}
	registry, err := facts.NewRegistry(slices.Concat(protocol.All(), r.protocols))
	if e, ok := errors.AsType[*facts.DeclarationError](err); ok {
		r.faults.add(kindProtocols+"/"+e.Protocol.Slug+".txt", e.Signature.Line, e.Signature.Text+": "+e.Err.Error())
		return
	}
	if err != nil {
		r.faults.add(kindProtocols, 0, err.Error())
		return
	}
	r.registry = registry
}
