package tool

import (
	"errors"
	"strings"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/gather"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// errClosed: only the evidence at hand may be looked at.
var errClosed = errors.New("nothing more can be asked of the world in this analysis")

// world is who is asked.
func (d *Desk) world() (gather.World, error) {
	if d.World == nil {
		return nil, errClosed
	}
	return d.World, nil
}

func (d *Desk) chain() *chain.Chain     { return d.Case.Evidence.Chain }
func (d *Desk) tx() *ethrpc.Transaction { return d.Case.Evidence.Tx }

// block is the number of the transaction's block, false while it is in none.
func (d *Desk) block() (uint64, bool) {
	n := d.tx().BlockNumber
	if n == nil || *n == 0 {
		return 0, false
	}
	return *n, true
}

const noBlock = "the transaction is in no block after genesis"

// Party is an address with the name that the evidence has for it.
type Party struct {
	Address api.Addr `json:"address"`
	Label   string   `json:"label,omitempty"`
}

func (d *Desk) party(a common.Address) Party { return Party{api.AddrOf(a), d.label(a)} }

// label is the name of an address: of the result, else of the tables.
func (d *Desk) label(a common.Address) string {
	for i := range d.Case.Result.Addresses {
		if r := &d.Case.Result.Addresses[i]; common.Address(r.Address) == a && r.Label != "" {
			return r.Label
		}
	}
	if l, ok := label.Lookup(d.chain().ID, a); ok {
		return l.Name
	}
	return ""
}

// symbol and decimals of a token; the zero address is the native coin.
func (d *Desk) symbol(token common.Address) (string, *uint8) {
	if token == (common.Address{}) {
		n := uint8(d.chain().Native.Decimals)
		return d.chain().Native.Symbol, &n
	}
	if t, ok := d.Case.Evidence.Tokens[token]; ok {
		return t.Symbol, t.Decimals
	}
	t, _ := label.LookupToken(d.chain().ID, token)
	return t.Symbol, t.Decimals
}

// seen is a frame with its line in the annotated tree.
type seen struct {
	*trace.Frame
	node *api.Node
}

// frame finds a frame by its path: the same that the result's tree and findings use.
func (d *Desk) frame(path Path) (seen, error) {
	at := 0
	for i := range d.Case.Result.PrettyTrace {
		n := &d.Case.Result.PrettyTrace[i]
		if n.Type == "LOG" {
			continue
		}
		if n.Path == string(path) && at < len(d.Case.Tree.Frames) {
			return seen{d.Case.Tree.Frames[at], n}, nil
		}
		at++
	}
	parent := string(path)
	if i := strings.LastIndexByte(parent, '.'); i > 0 {
		parent = parent[:i]
	}
	return seen{}, errors.New("there is no frame " + string(path) + ": see get_subtree of " + parent + " for those that are")
}
