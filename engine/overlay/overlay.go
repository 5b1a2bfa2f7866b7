package overlay

import (
	"strings"

	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/facts"
	"txlens/engine/incident"
	"txlens/engine/label"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// Data is the content of one folder. The methods are safe for concurrent use, and a nil *Data
// knows nothing.
type Data struct {
	*tables
	private bool // private labels are told
}

// tables are the rows of all files.
type tables struct {
	files     []File
	digest    string
	labels    map[place]entry
	origins   []origin // of the labels, in the order in which they were read
	tokens    map[place]label.Token
	incidents map[event]Incident
	chains    []Chain
	protocols []*protocol.Protocol
	registry  *facts.Registry // nil: there are no protocols
	own       *decode.Own     // nil: there are no ABIs or protocols
}

// File is a file of the folder.
type File struct {
	Name string
	Kind string // labels, tokens, ...
	Rows int
}

// place is an address of a chain; chain 0 stands for every one.
type place struct {
	chain   uint64
	address common.Address
}

type event struct {
	chain uint64
	tx    common.Hash
}

// entry is one label. Of many labels most share a class, so that a look-up reads little memory.
type entry struct {
	name   string
	class  *class
	origin int32 // index
}

// class is what a label is beside its name.
type class struct {
	category, slug, source string
	confidence             label.Confidence
	private                bool
}

// origin is where a label stands.
type origin struct {
	at   place
	file int32 // index
	line int32
}

// Chain is a chain that is in no table.
type Chain struct {
	*chain.Chain
	Endpoints []string
}

// Incident is a published incident, and the file that tells of it.
type Incident struct {
	incident.Incident
	Source string
}

// Label is the name that the user gave an address. Its Confidence is what the user says of it.
func (d *Data) Label(chainID uint64, a common.Address) (label.Label, bool) {
	if d == nil {
		return label.Label{}, false
	}
	for _, id := range [...]uint64{chainID, 0} {
		if e, ok := d.labels[place{id, a}]; ok && (d.private || !e.class.private) {
			return e.label(), true
		}
	}
	return label.Label{}, false
}

func (e entry) label() label.Label {
	c := e.class
	return label.Label{Name: e.name, Category: c.category, Protocol: c.slug, Source: c.source, Confidence: c.confidence, Origin: label.ByUser}
}

// Token is what the user says of a token.
func (d *Data) Token(chainID uint64, a common.Address) (label.Token, bool) {
	if d == nil {
		return label.Token{}, false
	}
	t, ok := d.tokens[place{chainID, a}]
	return t, ok
}

// Incident is what a file of the user tells of a transaction.
func (d *Data) Incident(chainID uint64, tx common.Hash) (Incident, bool) {
	if d == nil {
		return Incident{}, false
	}
	x, ok := d.incidents[event{chainID, tx}]
	return x, ok
}

// Rules are those of the program with those of the user's protocols; nil: the user has none.
func (d *Data) Rules() *facts.Registry {
	if d == nil {
		return nil
	}
	return d.registry
}

// Signatures are those of the user's ABIs and protocols; nil: the user has none.
func (d *Data) Signatures() *decode.Own {
	if d == nil {
		return nil
	}
	return d.own
}

// Chains are the chains of the user, in the order of the files.
func (d *Data) Chains() []Chain {
	if d == nil {
		return nil
	}
	return d.chains
}

// Files are the files, in the order of their names.
func (d *Data) Files() []File {
	if d == nil {
		return nil
	}
	return d.files
}

// Digest tells this data from other data, by the names and bytes of its files and by whether
// private labels are told; empty: there is none.
func (d *Data) Digest() string {
	if d == nil {
		return ""
	}
	if d.private {
		return d.digest
	}
	return d.digest + sharedSuffix
}

// sharedSuffix ends the digest of data without its private labels.
const sharedSuffix = "-shared"

// SameFiles reports whether two digests are those of the same files.
func SameFiles(a, b string) bool {
	return strings.TrimSuffix(a, sharedSuffix) == strings.TrimSuffix(b, sharedSuffix)
}

// Shared is the data without its private labels.
func (d *Data) Shared() *Data {
	if d == nil || !d.private {
		return d
	}
	return &Data{tables: d.tables}
}

// Private counts the labels that Shared lacks.
func (d *Data) Private() (n int) {
	if d == nil || !d.private {
		return 0
	}
	for _, e := range d.labels {
		if e.class.private {
			n++
		}
	}
	return n
}
