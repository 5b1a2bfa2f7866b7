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

// errClosed: the tools of this analysis may read only the evidence.
var errClosed = errors.New("nothing more can be asked of the world in this analysis")

// world returns what asks the node and the sources of contracts and prices, or errClosed
// after the end of the analysis.
func (d *Env) world() (gather.World, error) {
	if d.World == nil {
		return nil, errClosed
	}
	return d.World, nil
}

func (d *Env) chain() *chain.Chain     { return d.Case.Evidence.Chain }
func (d *Env) tx() *ethrpc.Transaction { return d.Case.Evidence.Tx }

// block returns the number of the transaction's block, or false while it is pending.
func (d *Env) block() (uint64, bool) {
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

func (d *Env) party(a common.Address) Party { return Party{api.AddrOf(a), d.label(a)} }

// label returns the name of an address, from the result or the label tables.
func (d *Env) label(a common.Address) string {
	for i := range d.Case.Result.Addresses {
		if r := &d.Case.Result.Addresses[i]; common.Address(r.Address) == a && r.Label != "" {
			return r.Label
		}
	}
	if l, ok := d.Case.Evidence.LabelOf(a); ok {
		return l.Name
	}
	return ""
}

// symbol returns symbol and decimals of a token. The zero address is the native coin.
func (d *Env) symbol(token common.Address) (string, *uint8) {
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

// seen is a frame with its node in the result.
type seen struct {
	*trace.Frame
	node *api.Node
}

// frame finds a frame by its path, as the result's tree and findings write it.
func (d *Env) frame(path Path) (seen, error) {
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
