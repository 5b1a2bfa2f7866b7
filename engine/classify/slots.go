package classify

import (
	"math/big"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// slot reads the value at a place of a log or of calldata.
type slot protocol.Place

// word reads the word of a log at the place, nil when the log is too short.
func (s slot) word(l *ethrpc.Log) []byte {
	if !s.Topic {
		return s.argument(l.Data)
	}
	if s.N >= len(l.Topics) {
		return nil
	}
	return l.Topics[s.N][:]
}

// argument reads the word at the place of ABI data: of a log, or the arguments of a call.
func (s slot) argument(data []byte) []byte {
	if data, n := s.scope(data); data != nil && !s.Topic {
		return evmsig.Word(data, n)
	}
	return nil
}

// scope finds the tuple that holds the value, to whose start offsets in it count, and
// the value's word there.
func (s slot) scope(data []byte) (tuple []byte, n int) {
	n = s.N
	for _, next := range s.Inside {
		if data = bodyAt(data, evmsig.Word(data, n)); data == nil {
			return nil, 0
		}
		n = next
	}
	return data, n
}

// bodyAt follows an offset word, nil when it points outside of the data.
func bodyAt(data, offset []byte) []byte {
	if offset == nil {
		return nil
	}
	n := new(big.Int).SetBytes(offset)
	if !n.IsInt64() || n.Int64() >= int64(len(data)) {
		return nil
	}
	return data[n.Int64():]
}

// at reads the address that stands at a place of a log.
func (s slot) at(l *ethrpc.Log) (common.Address, bool) {
	word := s.word(l)
	if word == nil {
		return common.Address{}, false
	}
	return evmsig.Address(word)
}

// role is what one argument of a signature is, and where it stands.
type role struct {
	name string
	slot slot
}

// roles of all arguments of a signature, in the layout that they were declared for.
type roles struct {
	list   []role
	topics int // indexed arguments of that layout
}

func signatureRoles(s *protocol.Signature) (r roles) {
	for _, x := range s.Roles {
		if x.Place.Topic {
			r.topics++
		}
		r.list = append(r.list, role{x.Name, slot(x.Place)})
	}
	return r
}

// slot finds the place of a role.
func (r *roles) slot(name string) (slot, bool) {
	for i := range r.list {
		if r.list[i].name == name {
			return r.list[i].slot, true
		}
	}
	return slot{}, false
}

// word reads the argument of a log that has a role, nil when it has none, or when the
// log has another layout than the one declared.
func (e *rule4log) word(l *ethrpc.Log, name string) []byte {
	s, ok := e.roles.slot(name)
	if !ok || len(l.Topics) != e.roles.topics+1 {
		return nil
	}
	return s.word(l)
}

// number reads an unsigned argument of a log by its role.
func (e *rule4log) number(l *ethrpc.Log, name string) *big.Int {
	if w := e.word(l, name); w != nil {
		return new(big.Int).SetBytes(w)
	}
	return nil
}

// address reads an address of a log by its role. Bridges to chains with longer
// addresses pad theirs to a word; those that need the whole word are no address here.
func (e *rule4log) address(l *ethrpc.Log, name string) (common.Address, bool) {
	if w := e.word(l, name); w != nil {
		return evmsig.Address(w)
	}
	return common.Address{}, false
}

// word reads the argument of calldata that has a role.
func (c *rule4call) word(input []byte, name string) []byte {
	s, ok := c.roles.slot(name)
	if !ok || len(input) < 4 {
		return nil
	}
	return s.argument(input[4:])
}

// eventOf is the log of a hit. An act that was read off a call has none: then it is an
// empty log, of which no role reads anything.
func (a *Reading) eventOf(h *hit) *ethrpc.Log {
	if a.Receipt == nil || h.log < 0 || h.log >= len(a.Receipt.Logs) {
		return &ethrpc.Log{}
	}
	return &a.Receipt.Logs[h.log]
}
