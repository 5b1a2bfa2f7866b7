package decode

import (
	"bytes"
	"cmp"
	"slices"

	"txlens/engine/decode/internal/signature"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Bounds of Want.
const (
	maxWantAddresses = 24
	maxWantSelectors = 64
	maxWantTopics    = 64
)

// Want says what is worth asking upstream for, most important first: contracts
// whose verified ABI would name most, and the selectors (of functions and errors)
// and topics that the curated and the package table do not know. What only the
// untrusted 4byte table knows comes after what nobody knows. Each list is bounded.
// rc may be nil.
func Want(tree *trace.Tree, rc *ethrpc.Receipt) (addrs []common.Address, selectors [][4]byte, topics []common.Hash) {
	w := &wants{live: executedAddresses(tree), index: map[common.Address]int{}}
	for _, f := range tree.Frames {
		w.frame(f)
	}
	if rc != nil {
		for i := range rc.Logs {
			w.log(&rc.Logs[i])
		}
	}
	return w.addresses(), w.selectors(), w.topics()
}

// wanted is one address, selector or topic with its weight.
type wanted[T any] struct {
	id     T
	weight int
	count  int
}

type wants struct {
	live  map[common.Address]bool
	index map[common.Address]int
	addrs []wanted[common.Address]
	ids   []wanted[tableKey]
	at    map[tableKey]int
}

// Weights of an address. What the transaction itself calls comes first; then what
// has something to name that no table knows; then what moved value or logged.
const (
	weightRoot    = 4000
	weightUnknown = 400
	weightValue   = 120
	weightLog     = 100
	weightCreated = 60
	maxCount      = 30
	perLevel      = 4
)

func (w *wants) frame(f *trace.Frame) {
	if _, small := smallAddress(f.To); small || !f.HasTo || f.Kind == trace.SelfDestruct || f.Kind == trace.Unknown {
		return
	}
	weight := -perLevel * f.Depth
	switch f.Kind {
	case trace.Create, trace.Create2:
		weight += weightCreated
	default:
		if !w.live[f.To] && f.Err == "" && f.Depth > 0 {
			return // nothing ran there
		}
	}
	if f.MovesValue() {
		weight += weightValue
	}
	if f.Logged() {
		weight += weightLog
	}
	if f.Depth == 0 || f.Parent != nil && f.Parent.Depth == 0 && delegate(f.Parent) == f {
		weight += weightRoot
	}
	if f.Err != "" && len(f.Output) >= 4 && !known(errorString, f.Output) && !known(errorPanic, f.Output) {
		// Why it failed matters more than what was called.
		w.id(signature.Error, selectorKey([4]byte(f.Output[:4])), weight+weightUnknown)
	}
	if len(f.Input) >= 4 && f.Kind <= trace.CallCode {
		if w.id(signature.Func, selectorKey([4]byte(f.Input[:4])), weight) && delegate(f) == nil {
			weight += weightUnknown
		}
	}
	w.add(f.To, weight)
}

func known(c candidate, data []byte) bool { return bytes.Equal(c.ID[:4], data[:4]) }

func (w *wants) log(l *ethrpc.Log) {
	if len(l.Topics) == 0 {
		return
	}
	weight := weightLog
	if w.id(signature.Event, l.Topics[0], weight) {
		weight += weightUnknown
	}
	w.add(l.Address, weight)
}

// add keeps the highest weight of an address and counts its appearances.
func (w *wants) add(a common.Address, weight int) {
	i, ok := w.index[a]
	if !ok {
		i = len(w.addrs)
		w.index[a] = i
		w.addrs = append(w.addrs, wanted[common.Address]{id: a, weight: weight})
	}
	e := &w.addrs[i]
	e.weight = max(e.weight, weight)
	e.count++
}

// id notes a selector or topic unless a trusted table knows it.
func (w *wants) id(what signature.What, id common.Hash, weight int) bool {
	key := tableKey{what, id}
	if i, ok := w.at[key]; ok {
		if i >= 0 {
			w.ids[i].count++
			w.ids[i].weight = max(w.ids[i].weight, weight)
		}
		return i >= 0
	}
	if w.at == nil {
		w.at = map[tableKey]int{}
	}
	if len(fromTables(key)) > 0 {
		w.at[key] = -1
		return false
	}
	if what != signature.Event && len(fourByteText([4]byte(id[:4]))) > 0 {
		weight -= 2 * weightRoot
	}
	w.at[key] = len(w.ids)
	w.ids = append(w.ids, wanted[tableKey]{id: key, weight: weight, count: 1})
	return true
}

// ranked sorts by weight and count; order of appearance breaks ties.
func ranked[T any](list []wanted[T]) []wanted[T] {
	slices.SortStableFunc(list, func(a, b wanted[T]) int {
		return cmp.Compare(b.weight+min(b.count, maxCount), a.weight+min(a.count, maxCount))
	})
	return list
}

func (w *wants) addresses() []common.Address {
	var out []common.Address
	for _, e := range ranked(w.addrs) {
		if len(out) == maxWantAddresses {
			break
		}
		out = append(out, e.id)
	}
	return out
}

func (w *wants) selectors() [][4]byte {
	var out [][4]byte
	w.ids = ranked(w.ids)
	for _, e := range w.ids {
		sel := [4]byte(e.id.id[:4])
		if e.id.what != signature.Event && len(out) < maxWantSelectors && !slices.Contains(out, sel) {
			out = append(out, sel)
		}
	}
	return out
}

func (w *wants) topics() []common.Hash {
	var out []common.Hash
	for _, e := range w.ids {
		if e.id.what == signature.Event && len(out) < maxWantTopics {
			out = append(out, e.id.id)
		}
	}
	return out
}
