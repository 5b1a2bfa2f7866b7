package app

import (
	"time"

	"txlens/actors/analysis"
	"txlens/engine/meter"
	"txlens/transport"
	"txlens/transport/admin"
)

var _ transport.Observer = (*admin.Metrics)(nil)

// recorder passes what the parts of the server report to the metrics. A nil recorder
// records nothing.
type recorder struct{ metrics *admin.Metrics }

func (r *recorder) onCall() func(tool, outcome string, took time.Duration) {
	if r == nil {
		return nil
	}
	return r.metrics.Called
}

func (r *recorder) onAnalysis() func(analysis.Summary) {
	if r == nil {
		return nil
	}
	return func(a analysis.Summary) {
		r.metrics.Analysed(string(a.Outcome), a.Failed, a.Took)
		for _, p := range a.Phases {
			r.metrics.Phase(p.Phase, p.Took)
		}
	}
}

func (r *recorder) onRun() func(analysis.AgentRun) {
	if r == nil {
		return nil
	}
	return func(ran analysis.AgentRun) {
		run := admin.ModelRun{
			Model: ran.Model, Outcome: ran.Outcome(), Turns: ran.Turns, Dropped: map[string]int{},
			Tokens: map[string]int64{
				"input":       ran.Usage.Input,
				"output":      ran.Usage.Output,
				"cache_read":  ran.Usage.CacheRead,
				"cache_write": ran.Usage.CacheWrite,
			},
		}
		ran.Dropped.Each(func(kind string, n int) { run.Dropped[kind] = n })
		r.metrics.Modelled(run)
	}
}

// spent records the costs of an analysis, whatever its outcome.
func (r *recorder) spent(m *meter.Meter) {
	if r == nil {
		return
	}
	for _, b := range meter.Buckets() {
		r.metrics.Cost(b.String(), m.Nano(b))
	}
}
