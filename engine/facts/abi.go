package facts

import (
	"math/big"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// Slot reads the value at a place of a log or of calldata.
type Slot protocol.Place

// Word reads the word of a log at the place, nil when the log is too short.
func (s Slot) Word(l *ethrpc.Log) []byte {
	if !s.Topic {
		return s.Argument(l.Data)
	}
	if s.N >= len(l.Topics) {
		return nil
	}
	return l.Topics[s.N][:]
}

// Argument reads the word at the place of ABI data: of a log, or the arguments of a call.
func (s Slot) Argument(data []byte) []byte {
	if data, n := s.Scope(data); data != nil && !s.Topic {
		return evmsig.Word(data, n)
	}
	return nil
}

// Scope finds the tuple that holds the value, to whose start offsets in it count, and
// the value's word there.
func (s Slot) Scope(data []byte) (tuple []byte, n int) {
	n = s.N
	for _, next := range s.Inside {
		if data = BodyAt(data, evmsig.Word(data, n)); data == nil {
			return nil, 0
		}
		n = next
	}
	return data, n
}

// BodyAt follows an offset word, nil when it points outside of the data.
func BodyAt(data, offset []byte) []byte {
	if offset == nil {
		return nil
	}
	n := new(big.Int).SetBytes(offset)
	if !n.IsInt64() || n.Int64() >= int64(len(data)) {
		return nil
	}
	return data[n.Int64():]
}

// At reads the address that stands at a place of a log.
func (s Slot) At(l *ethrpc.Log) (common.Address, bool) {
	word := s.Word(l)
	if word == nil {
		return common.Address{}, false
	}
	return evmsig.Address(word)
}

// role is what one argument of a signature is, and where it stands.
type role struct {
	Name string
	Slot Slot
}

// Roles of all arguments of a signature, in the layout that they were declared for.
type Roles struct {
	List   []role
	Topics int // indexed arguments of that layout
}

func SignatureRoles(s *protocol.Signature) (r Roles) {
	for _, x := range s.Roles {
		if x.Place.Topic {
			r.Topics++
		}
		r.List = append(r.List, role{x.Name, Slot(x.Place)})
	}
	return r
}

// slot finds the place of a role.
func (r *Roles) slot(name string) (Slot, bool) {
	for i := range r.List {
		if r.List[i].Name == name {
			return r.List[i].Slot, true
		}
	}
	return Slot{}, false
}

// word reads the argument of a log that has a role, nil when it has none, or when the
// log has another layout than the one declared.
func (e *EventRule) word(l *ethrpc.Log, name string) []byte {
	s, ok := e.Roles.slot(name)
	if !ok || len(l.Topics) != e.Roles.Topics+1 {
		return nil
	}
	return s.Word(l)
}

// Number reads an unsigned argument of a log by its role.
func (e *EventRule) Number(l *ethrpc.Log, name string) *big.Int {
	if w := e.word(l, name); w != nil {
		return new(big.Int).SetBytes(w)
	}
	return nil
}

// Address reads an address of a log by its role. Bridges to chains with longer
// addresses pad theirs to a word; those that need the whole word are no address here.
func (e *EventRule) Address(l *ethrpc.Log, name string) (common.Address, bool) {
	return evmsig.Address(e.word(l, name))
}

// word reads the argument of calldata that has a role, of a call that begins with the selector.
func (c *CallRule) word(input []byte, name string) []byte {
	s, ok := c.Roles.slot(name)
	if !ok {
		return nil
	}
	return s.Argument(input[4:])
}

// EventOf is the log of a hit. An act that was read off a call has none: then it is an
// empty log, of which no role reads anything.
func (a *Case) EventOf(h *Match) *ethrpc.Log {
	if a.Receipt == nil || h.Log < 0 || h.Log >= len(a.Receipt.Logs) {
		return &ethrpc.Log{}
	}
	return &a.Receipt.Logs[h.Log]
}

// OffsetAt is what stands where a word of ABI data points to; nil when that is outside.
func OffsetAt(data []byte, word int) []byte {
	w := evmsig.Word(data, word)
	if w == nil {
		return nil
	}
	n := new(big.Int).SetBytes(w)
	if !n.IsUint64() || n.Uint64() > uint64(len(data)) {
		return nil
	}
	return data[n.Uint64():]
}

// BytesAt is the byte string that a word of ABI data points to.
func BytesAt(data []byte, word int) []byte { return counted(OffsetAt(data, word)) }

// ElementAt is an element of an array of byte strings.
func ElementAt(array []byte, i int) []byte {
	if len(array) < 32 {
		return nil
	}
	if n := new(big.Int).SetBytes(array[:32]); !n.IsUint64() || uint64(i) >= n.Uint64() {
		return nil
	}
	return counted(OffsetAt(array[32:], i))
}

// counted cuts a byte string by the length before it.
func counted(b []byte) []byte {
	if len(b) < 32 {
		return nil
	}
	n := new(big.Int).SetBytes(b[:32])
	if !n.IsUint64() || n.Uint64() > uint64(len(b)-32) {
		return nil
	}
	return b[32 : 32+n.Uint64()]
}
