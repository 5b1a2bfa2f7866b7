package main

import (
	"time"

	"txlens/actors/analysis"
	"txlens/engine/meter"
	"txlens/transport"
	"txlens/transport/admin"
)

var _ transport.Observer = (*admin.Metrics)(nil)

// counting brings what the parts of the server tell to its metrics: only this
// package sees both. A nil one counts nothing.
type counting struct{ metrics *admin.Metrics }

func (c *counting) onCall() func(tool, outcome string, took time.Duration) {
	if c == nil {
		return nil
	}
	return c.metrics.Called
}

func (c *counting) onAnalysis() func(analysis.Summary) {
	if c == nil {
		return nil
	}
	return func(a analysis.Summary) {
		c.metrics.Analysed(string(a.Outcome), a.Failed, a.Took)
		for _, p := range a.Phases {
			c.metrics.Phase(p.Phase, p.Took)
		}
	}
}

func (c *counting) onRun() func(analysis.AgentRun) {
	if c == nil {
		return nil
	}
	return func(r analysis.AgentRun) {
		run := admin.ModelRun{
			Model: r.Model, Outcome: r.Outcome(), Turns: r.Turns, Dropped: map[string]int{},
			Tokens: map[string]int64{
				"input":       r.Usage.Input,
				"output":      r.Usage.Output,
				"cache_read":  r.Usage.CacheRead,
				"cache_write": r.Usage.CacheWrite,
			},
		}
		r.Dropped.Each(func(kind string, n int) { run.Dropped[kind] = n })
		c.metrics.Modelled(run)
	}
}

// spent books what an analysis cost, however it ended.
func (c *counting) spent(m *meter.Meter) {
	if c == nil {
		return
	}
	for _, b := range meter.Buckets() {
		c.metrics.Cost(b.String(), m.Nano(b))
	}
}
