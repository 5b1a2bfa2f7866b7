package report

import (
	"strings"

	"txlens/engine/api"
)

// What the tables of deals and outcomes show at most.
const (
	maxDeals    = 40
	maxOutcomes = 20
	maxAssets   = 8
)

// deal is one row: what the sender and its contracts gave in a call and what they took.
type deal struct {
	Frame, Function, Given, Taken string
	Target                        party
}

// outcome is one row: what an account has more or less of.
type outcome struct {
	Party  party
	Assets []asset
}

type asset struct {
	Text string
	Gain int // sign of the amount
}

// dealings are the two tables.
type dealings struct {
	Deals     []deal
	MoreDeals int
	Gained    []outcome
	Lost      []outcome
}

func (n *names) dealings(r *api.Result) *dealings {
	d := r.Dealings
	if d == nil {
		return nil
	}
	out := &dealings{MoreDeals: d.MoreDeals, Gained: n.outcomes(d.Gained), Lost: n.outcomes(d.Lost)}
	for _, x := range head(d.Deals, maxDeals) {
		out.Deals = append(out.Deals, deal{
			Frame: api.OneLine(x.Frame, 40), Function: api.OneLine(x.Function, 60), Target: n.party(x.Target), Given: texts(x.Given), Taken: texts(x.Taken),
		})
	}
	out.MoreDeals += len(d.Deals) - len(out.Deals)
	return out
}

func (n *names) outcomes(list []api.Holding) (out []outcome) {
	for _, h := range head(list, maxOutcomes) {
		o := outcome{Party: n.party(h.Account)}
		for _, a := range head(h.Assets, maxAssets) {
			sign := 1
			if strings.HasPrefix(a.Amount, "-") {
				sign = -1
			}
			o.Assets = append(o.Assets, asset{api.OneLine(a.Text, 80), sign})
		}
		out = append(out, o)
	}
	return out
}

func texts(list []api.AssetAmount) string {
	var out []string
	for _, a := range head(list, maxAssets) {
		out = append(out, api.OneLine(a.Text, 80))
	}
	return strings.Join(out, ", ")
}

// dealings write the two tables after the findings, whose ground they are.
func (t *text) dealings() {
	d := t.page.names.dealings(t.r)
	if d == nil {
		return
	}
	if len(d.Deals) > 0 {
		t.heading("Exchanges with other accounts")
	}
	for _, x := range d.Deals {
		t.wrapped("  "+pad(x.Frame, 8)+" ", strings.TrimRight(x.Target.Both()+" › "+x.Function, " ›"), "")
		t.more("gave", x.Given)
		t.more("took", x.Taken)
	}
	if d.MoreDeals > 0 {
		t.line(t.paint(dim, "  … and "+api.Count(d.MoreDeals, "more deal")))
	}
	t.outcomes("The sender and its contracts in the end", d.Gained)
	t.outcomes("Who lost without payment", d.Lost)
}

func (t *text) outcomes(title string, list []outcome) {
	if len(list) > 0 {
		t.heading(title)
	}
	for _, o := range list {
		t.wrapped("  ", o.Party.Both(), "")
		for _, a := range o.Assets {
			t.wrapped("    ", a.Text, gain(a.Gain))
		}
	}
}
