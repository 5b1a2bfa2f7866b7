package decode

import (
	"context"

	"txlens/engine/chain"
	"txlens/engine/evidence"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// Sources is what was learned from outside for one transaction. Any part may be
// empty. Signatures are canonical text, most trusted first.
type Sources struct {
	Contracts map[common.Address]*Contract
	Functions map[[4]byte][]string // functions and errors share the four bytes
	Events    map[common.Hash][]string
}

// Prober reads the state of one block.
type Prober interface {
	Code(ctx context.Context, addr common.Address) ([]byte, error)
	Storage(ctx context.Context, addr common.Address, slot common.Hash) (common.Hash, error)
	Call(ctx context.Context, to common.Address, data []byte) ([]byte, error)
}

// Decoder decodes the frames and logs of one transaction. It is owned by one
// goroutine; the embedded tables behind it are shared.
type Decoder struct {
	ch  *chain.Chain
	src Sources
}

// New makes a Decoder. ch may be nil.
func New(ch *chain.Chain, src Sources) *Decoder { return &Decoder{ch: ch, src: src} }

// All decodes every kept frame of the tree and every log of the receipt. rc may be nil.
func (d *Decoder) All(tree *trace.Tree, rc *evidence.Receipt) *Set {
	s := &Set{Calls: make([]*Call, len(tree.Frames)), Failures: make([]*Failure, len(tree.Frames))}
	if rc != nil {
		s.Events = make([]*Event, len(rc.Logs))
	}
	return s
}

// Event decodes one log. f is the frame that emitted it, nil when not known.
func (d *Decoder) Event(f *trace.Frame, addr common.Address, topics []common.Hash, data []byte) *Event {
	return nil
}

// Want says what is worth asking upstream for, most important first.
func Want(tree *trace.Tree, rc *evidence.Receipt) (addrs []common.Address, selectors [][4]byte, topics []common.Hash) {
	return nil, nil, nil
}

// ParseABI reads the JSON of a contract's ABI.
func ParseABI(json []byte) (*abi.ABI, error) { return &abi.ABI{}, nil }

// Implementation finds what stands behind a proxy.
func Implementation(ctx context.Context, p Prober, addr common.Address, tree *trace.Tree) (impl []common.Address, kind string, err error) {
	return nil, "", nil
}

// Explain turns the VM's own words of a failure into words for people.
func Explain(vmErr string) string { return vmErr }
