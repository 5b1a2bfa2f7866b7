package decode

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/decode/internal/signature"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Sources is the metadata that was fetched for one transaction. Any part may be empty.
// Signatures are canonical text, most trusted first.
type Sources struct {
	Contracts map[common.Address]*Contract
	Functions map[[4]byte][]string // functions and errors share the four bytes
	Events    map[common.Hash][]string
	Own       *Own  // signatures of the user; may be nil
	Codeless  *bool // whether the receiver of the transaction has no code; nil: not known
}

// Decoder decodes the frames and logs of one transaction. It is not safe for concurrent
// use; Decoders share the embedded tables.
type Decoder struct {
	src       Sources
	vals      *values
	contracts map[common.Address]*verified
	memo      map[tableKey][]candidate
	failures  map[*trace.Frame]*Failure
	live      map[common.Address]bool // addresses whose code is known to have run
}

// candidate is one signature that may fit, with its source.
type candidate struct {
	*signature.Signature
	from Provenance
}

// mode returns how far the bytes may differ from the strict encoding.
func (c candidate) mode() mode {
	switch c.from {
	case FromVerified, FromVerifiedImpl, FromBuiltin: // hand-written code packs Error(string) without padding
		return lenient
	case FromOwn, FromCurated, FromPackages:
		return trailing
	}
	return exact
}

// New returns a Decoder. The chain may be nil: no name depends on it so far.
func New(_ *chain.Chain, src Sources) *Decoder {
	return &Decoder{src: src, vals: newValues(), contracts: map[common.Address]*verified{},
		memo: map[tableKey][]candidate{}, failures: map[*trace.Frame]*Failure{}}
}

// Calldata decodes what is sent to an account, by the embedded tables alone. to may be the zero
// address where it is not known. Name is empty where no known function encodes to these bytes.
func Calldata(to common.Address, data []byte) *Call {
	f := &trace.Frame{Kind: trace.Call, To: to, HasTo: true, Input: data, Status: trace.OK}
	called := false // the data is meant for code
	d := New(nil, Sources{Codeless: &called})
	if c := d.call(f); c != nil {
		return c
	}
	return &Call{Args: []api.Arg{}}
}

// All decodes every kept frame of the tree and every log of the receipt. rc may be nil.
func (d *Decoder) All(tree *trace.Tree, rc *ethrpc.Receipt) *Set {
	s := &Set{Calls: make([]*Call, len(tree.Frames)), Failures: make([]*Failure, len(tree.Frames))}
	d.live = executedAddresses(tree)
	var emitter []*trace.Frame
	if rc != nil {
		s.Events = make([]*Event, len(rc.Logs))
		emitter = make([]*trace.Frame, len(rc.Logs))
	}
	for i, f := range tree.Frames {
		s.Calls[i] = d.call(f)
		for _, l := range f.Logs {
			if l.Receipt >= 0 && l.Receipt < len(emitter) {
				emitter[l.Receipt] = f
			}
		}
	}
	// From the leaves up: a frame that passes an error on finds it decoded.
	for i := len(tree.Frames) - 1; i >= 0; i-- {
		s.Failures[i] = d.failure(tree.Frames[i])
	}
	for i := range s.Events {
		l := &rc.Logs[i]
		s.Events[i] = d.Event(emitter[i], l.Address, l.Topics, l.Data)
	}
	return s
}

// contract returns the index of a verified ABI, nil when the address has none.
func (d *Decoder) contract(a common.Address) *verified {
	v, ok := d.contracts[a]
	if !ok {
		if c := d.src.Contracts[a]; c != nil && c.ABI != nil {
			v = newVerified(c)
		}
		d.contracts[a] = v
	}
	return v
}

// known returns the signatures of an id other than those of verified ABIs, most trusted
// first, those of the user before all others. go-ethereum's table is used only if no better source knows the selector: if a
// curated table knows it and the bytes do not fit, another name that fits is probably
// planted. That table is also large, and loaded on first use.
func (d *Decoder) known(k tableKey) []candidate {
	if hit, ok := d.memo[k]; ok {
		return hit
	}
	out := append(slices.Clone(d.src.Own.find(k)), fromTables(k)...)
	texts := d.src.Functions[[4]byte(k.id[:4])]
	if k.what == signature.Event {
		texts = d.src.Events[k.id]
	}
	out = append(out, fromTexts(k, texts, FromSignatures)...)
	if len(out) == 0 && k.what != signature.Event {
		out = fromTexts(k, fourByteText([4]byte(k.id[:4])), FromFourByte)
	}
	d.memo[k] = out
	return out
}

// fromTables looks up the two curated tables.
func fromTables(k tableKey) []candidate {
	var out []candidate
	for _, e := range []*embedded{curated, packages} {
		for _, s := range e.find(k) {
			out = append(out, candidate{s, e.from})
		}
	}
	return out
}

// maxTexts bounds the candidates of a signature database for one selector.
const maxTexts = 16

// fromTexts compiles texts from a signature database.
func fromTexts(k tableKey, texts []string, from Provenance) []candidate {
	var out []candidate
	for _, text := range texts[:min(len(texts), maxTexts)] {
		s, err := signature.Parse(k.what, text)
		if err != nil || s.Text != text || idOf(s) != k.id {
			continue
		}
		s.LayoutUnknown = k.what == signature.Event
		out = append(out, candidate{s, from})
	}
	return out
}
