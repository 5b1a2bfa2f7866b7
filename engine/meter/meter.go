// Package meter counts what one analysis costs, in integer nano-dollars (10^-9
// USD), in the four buckets of the interface, and lists every metered call.
package meter

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"txlens/engine/api"
)

// Bucket is one of the four cost buckets.
type Bucket uint8

const (
	LLMs Bucket = iota
	DataCollection
	CodeExecution
	Other
	buckets
)

// Buckets are all buckets, in the order of the interface.
func Buckets() []Bucket { return []Bucket{LLMs, DataCollection, CodeExecution, Other} }

// String is the key of the bucket in a result's costs.
func (b Bucket) String() string {
	return [...]string{"llms", "dataCollection", "codeExecution", "other"}[b]
}

// Call is one metered call. Seq, from Begin, orders calls by their start. Calls without Seq
// are ordered by Tool and Key, so that the list does not depend on which of several
// parallel calls ended first.
type Call struct {
	Bucket   Bucket
	Seq      int64 // 0: the start is not known, as in recordings of older versions
	Tool     string
	Key      string
	Duration time.Duration
	OK       bool
	Nano     int64 // price in nano-dollars
}

// Meter collects calls. The zero Meter is ready to use; a nil Meter discards. It is safe
// for concurrent use.
type Meter struct {
	// Gate, if set before first use, is called before each purchase with the highest price
	// that it can have, in nano-dollars. It may wait for the caller's payment; its error
	// rejects the purchase.
	Gate func(ctx context.Context, most int64) (Hold, error)
	// OnCost, if set before first use, is called with each new total, in nano-dollars, from
	// several goroutines; it must not block.
	OnCost func(totalNano int64)
	// Room, if set before first use, is called with the bytes of all answers of nodes so far
	// while a large one is read. It may wait for memory; its error ends the answer.
	Room func(ctx context.Context, bytes int64) error

	mu    sync.Mutex
	calls []Call
	sum   [buckets]int64
	begun int64 // the highest Seq so far
}

// Begin numbers the start of a call, from 1.
func (m *Meter) Begin() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	return m.begun
}

// Add records one call.
func (m *Meter) Add(c Call) {
	m.List(c)
	m.Spend(c.Bucket, c.Nano)
}

// Spend records cost at once, for a call whose price becomes known while it runs: List adds
// the call when it has ended.
func (m *Meter) Spend(b Bucket, nano int64) {
	if m == nil || nano == 0 {
		return
	}
	m.mu.Lock()
	m.sum[b] += nano
	total := m.total()
	m.mu.Unlock()
	if m.OnCost != nil {
		m.OnCost(total)
	}
}

// List adds a call whose cost is already recorded.
func (m *Meter) List(c Call) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
	m.begun = max(m.begun, c.Seq) // a recorded call has the number of its recording
}

// Hold keeps the highest price of a purchase reserved until its cost is recorded.
type Hold interface {
	// Use turns a part of the hold into cost. Call it before the same cost is recorded.
	Use(nano int64)
	// Break ends the hold of a purchase that was broken off: it may have cost the highest price.
	Break()
	// End releases what is left of the hold. Later calls of all methods have no effect.
	End()
}

// noHold is the hold of a purchase that nobody pays for.
type noHold struct{}

func (noHold) Use(int64) {}
func (noHold) Break()    {}
func (noHold) End()      {}

// Reserve asks the gate whether a purchase is allowed now. most is the highest price that it
// can have, in nano-dollars. Call End of the hold when the cost is recorded, or when there is
// none.
func (m *Meter) Reserve(ctx context.Context, most int64) (Hold, error) {
	if m == nil || m.Gate == nil {
		return noHold{}, nil
	}
	return m.Gate(ctx, most)
}

// TotalNano is the cost so far in nano-dollars.
func (m *Meter) TotalNano() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total()
}

// Nano is the cost so far of one bucket, in nano-dollars.
func (m *Meter) Nano(b Bucket) int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum[b]
}

func (m *Meter) total() (n int64) {
	for _, v := range m.sum {
		n += v
	}
	return n
}

// Costs returns the buckets in the form of the Result.
func (m *Meter) Costs() api.Costs {
	if m == nil {
		return api.Costs{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return api.Costs{
		LLMs:           api.NanoDollars(m.sum[LLMs]),
		DataCollection: api.NanoDollars(m.sum[DataCollection]),
		CodeExecution:  api.NanoDollars(m.sum[CodeExecution]),
		Other:          api.NanoDollars(m.sum[Other]),
		TotalUSD:       api.NanoDollars(m.total()),
	}
}

// ToolCalls returns the calls in the order of their start; before them those with unknown
// start, by tool and key.
func (m *Meter) ToolCalls() []api.ToolCall {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	calls := append([]Call(nil), m.calls...)
	m.mu.Unlock()
	slices.SortStableFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), strings.Compare(a.Tool, b.Tool), strings.Compare(a.Key, b.Key))
	})
	out := make([]api.ToolCall, len(calls))
	for i, c := range calls {
		out[i] = api.ToolCall{Tool: c.Tool, DurationMs: c.Duration.Milliseconds(), OK: c.OK, CostUSD: api.NanoDollars(c.Nano)}
	}
	return out
}
