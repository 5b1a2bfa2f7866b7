package report

import (
	"fmt"
	"sort"

	"txlens/engine/api"
)

// maxTools bounds the table of what was called for the analysis.
const maxTools = 60

// spending is what the analysis cost: the four buckets, and its calls by tool.
type spending struct {
	Buckets []fact
	Total   string
	Tools   []tool
	More    int // tools left out
}

// tool is all calls of one kind.
type tool struct {
	Name, Time, Cost string
	Calls, Failed    int
}

func spendingOf(r *api.Result) spending {
	s := spending{Total: cost(r.Costs.TotalUSD)}
	for _, b := range []struct {
		name string
		d    api.Decimal
	}{
		{"Language models", r.Costs.LLMs}, {"Data collection", r.Costs.DataCollection},
		{"Code execution", r.Costs.CodeExecution}, {"Other", r.Costs.Other},
	} {
		s.Buckets = append(s.Buckets, fact{b.name, cost(b.d)})
	}
	at := map[string]int{}
	var took []int64
	var paid []api.Decimal
	for _, c := range r.ToolCalls {
		name := api.OneLine(c.Tool, 60)
		i, ok := at[name]
		if !ok {
			i = len(s.Tools)
			at[name], s.Tools = i, append(s.Tools, tool{Name: name})
			took, paid = append(took, 0), append(paid, api.Decimal{})
		}
		s.Tools[i].Calls++
		if !c.OK {
			s.Tools[i].Failed++
		}
		took[i], paid[i] = took[i]+c.DurationMs, sumOf(paid[i], c.CostUSD)
	}
	for i := range s.Tools {
		s.Tools[i].Time, s.Tools[i].Cost = api.Thousands(fmt.Sprint(took[i]))+" ms", cost(paid[i])
	}
	sort.SliceStable(s.Tools, func(a, b int) bool { return s.Tools[a].Name < s.Tools[b].Name })
	s.More = max(len(s.Tools)-maxTools, 0)
	s.Tools = head(s.Tools, maxTools)
	return s
}

// sumOf adds two decimals of whatever scale; what is no number counts nothing.
func sumOf(a, b api.Decimal) api.Decimal {
	x, y := rational(&a), rational(&b)
	switch {
	case y == nil:
		return a
	case x == nil:
		return b
	}
	scale := max(a.Scale, b.Scale)
	sum, _ := decimal(x.Add(x, y).FloatString(scale))
	return sum
}
