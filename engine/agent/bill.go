package agent

import (
	"fmt"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/engine/meter"
)

// toolModel is the name of the model's turns in the list of tool calls of a result.
const toolModel = "model"

// bill records the cost of one turn while the model still answers, so that the caller's
// payment is checked before the next purchase and not after the last.
type bill struct {
	r    *run
	of   *purchase
	seq  int64
	key  string
	used llm.Usage // usage reported so far
	nano int64     // cost recorded so far
}

func (r *run) openBill(turn int64, of *purchase) *bill {
	return &bill{r: r, of: of, seq: r.Meter.Begin(), key: fmt.Sprintf("%04d", turn)} // in the order of text
}

// grow records the total usage of the turn so far. A provider may later report less; the
// total never shrinks.
func (b *bill) grow(u llm.Usage) {
	next := llm.Usage{
		Input: max(u.Input, b.used.Input), Output: max(u.Output, b.used.Output),
		CacheRead: max(u.CacheRead, b.used.CacheRead), CacheWrite: max(u.CacheWrite, b.used.CacheWrite),
	}
	if next == b.used {
		return
	}
	r := b.r
	r.out.Usage = r.out.Usage.Plus(llm.Usage{
		Input: next.Input - b.used.Input, Output: next.Output - b.used.Output,
		CacheRead: next.CacheRead - b.used.CacheRead, CacheWrite: next.CacheWrite - b.used.CacheWrite,
	})
	b.used = next
	cost := r.Price.Cost(next)
	if b.of.hold != nil {
		b.of.hold.Use(cost - b.nano)
	}
	r.Meter.Spend(meter.LLMs, cost-b.nano)
	r.nano += cost - b.nano
	b.nano = cost
	total, all := api.NanoDollars(r.nano), r.out.Usage
	r.Emit(api.Event{
		Type: api.EventTokens, CostUSD: &total, Model: r.Name,
		InputTokens: &all.Input, OutputTokens: &all.Output, CacheReadTokens: &all.CacheRead, CacheWriteTokens: &all.CacheWrite,
	})
}

// close adds the turn to the list of calls. Its cost is already recorded.
func (b *bill) close(took time.Duration, ok bool) {
	b.r.Meter.List(meter.Call{Bucket: meter.LLMs, Seq: b.seq, Tool: toolModel, Key: b.key, Duration: took, OK: ok, Nano: b.nano})
}
