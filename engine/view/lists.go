package view

import (
	"cmp"
	"math/big"
	"slices"

	"txlens/engine/api"
)

// trace keeps the outermost call, frames that failed, and the frames that used most gas.
func (w *reducer) trace(r *api.Result) {
	all := r.PrettyTrace
	at := largest(len(all), w.nodes, func(i, j int) int { return compareNodes(&all[i], &all[j]) })
	r.PrettyTrace = make([]api.Node, 0, len(at))
	for _, i := range at {
		r.PrettyTrace = append(r.PrettyTrace, Compact(all[i], w.data))
	}
	w.omit("prettyTrace", PartTrace, len(all), len(at))
}

// compareNodes orders nodes by what they tell: the outermost call, frames that failed by
// themselves, the deepest first, then frames by their gas, then logs.
func compareNodes(a, b *api.Node) int {
	return cmp.Or(
		cmp.Compare(nodeRank(a), nodeRank(b)),
		cmp.Compare(failedDepth(b), failedDepth(a)),
		cmp.Compare(b.GasUsed, a.GasUsed),
		cmp.Compare(a.Index, b.Index),
	)
}

func nodeRank(n *api.Node) int {
	switch {
	case n.Depth == 0 && n.Type != typeLog:
		return 0
	case n.Status == api.NodeFailed:
		return 1
	case n.Type != typeLog:
		return 2
	}
	return 3
}

func failedDepth(n *api.Node) int {
	if n.Status == api.NodeFailed {
		return n.Depth
	}
	return 0
}

// typeLog is Node.Type of a log.
const typeLog = "LOG"

// largest returns the indices of the n items that come first in an order, sorted by index.
func largest(total, n int, order func(i, j int) int) []int {
	at := make([]int, total)
	for i := range at {
		at[i] = i
	}
	if total > n {
		slices.SortStableFunc(at, order)
		at = at[:max(n, 0)]
		slices.Sort(at)
	}
	return at
}

// money keeps the largest movements, by their value in dollars where they have one.
func (w *reducer) money(r *api.Result) {
	worth := valuesOf(r)
	all := r.TokenTransfers
	at := largest(len(all), w.transfers, func(i, j int) int { return worth.compare(&all[j], &all[i]) })
	r.TokenTransfers = make([]api.TokenTransfer, 0, len(at))
	for _, i := range at {
		t := all[i]
		t.TokenName, t.TokenSymbol = Shorten(t.TokenName, 40), Shorten(t.TokenSymbol, 24)
		t.Total, t.TokenID, t.Decimals = Shorten(t.Total, 80), Shorten(t.TokenID, 80), Shorten(t.Decimals, 80)
		r.TokenTransfers = append(r.TokenTransfers, t)
	}
	w.omit("tokenTransfers", PartTransfers, len(all), len(at))
	w.balances(r)
	if f := r.Fee; f != nil {
		short := *f
		short.Recipients = first(w, "fee.recipients", "", f.Recipients, max(w.addresses, 2))
		r.Fee = &short
	}
}

// balances keeps the sender and the accounts whose balance changed by most dollars.
func (w *reducer) balances(r *api.Result) {
	all := r.BalanceChanges
	at := largest(len(all), w.budget.balances, func(i, j int) int {
		a, b := &all[i], &all[j]
		return cmp.Or(-compareBool(a.IsSender, b.IsSender), -compareAbs(a.TotalUSD, b.TotalUSD))
	})
	kept := make([]api.BalanceChange, 0, len(at))
	tokens, shown := 0, 0
	for _, i := range at {
		c := all[i]
		c.Label, c.Role = Shorten(c.Label, w.name()), Shorten(c.Role, w.name())
		tokens += len(c.Tokens)
		c.Tokens = w.tokens(c.Tokens)
		shown += len(c.Tokens)
		kept = append(kept, c)
	}
	if all != nil {
		r.BalanceChanges = kept
	}
	w.omit("balanceChanges", PartBalances, len(all), len(at))
	w.omit("balanceChanges.tokens", PartBalances, tokens, shown)
}

func (w *reducer) tokens(all []api.TokenChange) []api.TokenChange {
	at := largest(len(all), w.budget.balances, func(i, j int) int { return -compareAbs(all[i].ValueUSD, all[j].ValueUSD) })
	kept := make([]api.TokenChange, 0, len(at))
	for _, i := range at {
		t := all[i]
		t.TokenSymbol, t.Balance, t.RawSignedAmount = Shorten(t.TokenSymbol, 24), Shorten(t.Balance, 100), Shorten(t.RawSignedAmount, 100)
		if t.TokenID != nil {
			t.TokenID = new(Shorten(*t.TokenID, 80))
		}
		kept = append(kept, t)
	}
	return kept
}

// name bounds the bytes of a label.
func (w *reducer) name() int { return min(w.text, 80) }

// details keeps what programs read of accounts, findings and steps.
func (w *reducer) details(r *api.Result) {
	r.Addresses = first(w, "addresses", PartAddresses, r.Addresses, w.addresses)
	for i := range r.Addresses {
		a := &r.Addresses[i]
		a.Label, a.Role, a.LabelSource = Shorten(a.Label, w.name()), Shorten(a.Role, w.name()), Shorten(a.LabelSource, w.name())
	}
	r.Contracts = first(w, "contracts", PartContracts, r.Contracts, w.contracts)
	for i := range r.Contracts {
		c := &r.Contracts[i]
		c.Name, c.Description = Shorten(c.Name, w.name()), Shorten(c.Description, w.name())
	}
	r.Findings = first(w, "findings", PartFindings, r.Findings, w.findings)
	for i := range r.Findings {
		w.finding(&r.Findings[i])
	}
	r.StepsDetail = keepAll(w, "stepsDetail", PartSteps, r.StepsDetail, w.budget.details)
	r.RisksDetail = keepAll(w, "risksDetail", PartRisks, r.RisksDetail, w.budget.details)
	r.Authorizations = first(w, "authorizations", "", r.Authorizations, w.addresses)
	if x := r.Sandwich; x != nil && !fits(x, 5*w.text) {
		w.omit("sandwich", "", 1, 0)
		r.Sandwich = nil
	}
	if d := r.Dealings; d != nil {
		if !fits(d, 512*w.deals) {
			w.omit("dealings", PartDealings, 1, 0)
			r.Dealings = nil
		}
	}
}

// keepAll keeps a list as a whole, or nothing of it where it is too long.
func keepAll[T any](w *reducer, member, part string, items []T, n int) []T {
	if len(items) <= n && fits(items, 1024*n) {
		return items
	}
	w.omit(member, part, len(items), 0)
	return nil
}

// finding shortens one finding. All of it is in the part.
func (w *reducer) finding(f *api.Finding) {
	n := max(w.budget.findings, 1)
	f.BrokenInvariant, f.Check = Shorten(f.BrokenInvariant, w.text), Shorten(f.Check, w.text)
	f.Victim, f.Attacker, f.Code = f.Victim[:min(len(f.Victim), n)], f.Attacker[:min(len(f.Attacker), n)], f.Code[:min(len(f.Code), n)]
	f.Amplifiers, f.Revoke = nil, f.Revoke[:min(len(f.Revoke), n)]
	f.MissingDataToConfirm = slices.Clone(f.MissingDataToConfirm[:min(len(f.MissingDataToConfirm), n)])
	for i, s := range f.MissingDataToConfirm {
		f.MissingDataToConfirm[i] = Shorten(s, w.text)
	}
	f.Evidence = f.Evidence[:min(len(f.Evidence), n)]
	if !fits(f.Evidence, 512*n) {
		f.Evidence = nil
	}
	f.Gain, f.Loss = w.assets(f.Gain, n), w.assets(f.Loss, n)
}

func (w *reducer) assets(all []api.AssetAmount, n int) []api.AssetAmount {
	kept := slices.Clone(all[:min(len(all), n)])
	for i := range kept {
		kept[i].Amount, kept[i].Text = Shorten(kept[i].Amount, 80), Shorten(kept[i].Text, 80)
	}
	return kept
}

// values ranks transfers: by dollars, where the price of the token is known.
type values map[api.Addr]*big.Rat

func valuesOf(r *api.Result) values {
	out := values{}
	for i := range r.BalanceChanges {
		for _, t := range r.BalanceChanges[i].Tokens {
			raw, ok := new(big.Int).SetString(t.RawSignedAmount, 10)
			if ok && raw.Sign() != 0 && t.ValueUSD != nil && t.ValueUSD.Unscaled != nil && out[t.TokenAddress] == nil {
				per := new(big.Rat).Quo(rat(*t.ValueUSD), new(big.Rat).SetInt(raw))
				out[t.TokenAddress] = per.Abs(per)
			}
		}
	}
	return out
}

func rat(d api.Decimal) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(d.Scale, 0))), nil)
	return new(big.Rat).SetFrac(d.Unscaled, scale)
}

func (v values) compare(a, b *api.TokenTransfer) int { return v.of(a).Cmp(v.of(b)) }

// of is the value of a transfer; zero where it is not known.
func (v values) of(t *api.TokenTransfer) *big.Rat {
	per := v[t.TokenAddress]
	raw, ok := new(big.Int).SetString(t.Total, 10)
	if per == nil || !ok {
		return new(big.Rat)
	}
	return new(big.Rat).Mul(per, new(big.Rat).SetInt(raw))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// compareAbs compares amounts without their sign; an unknown one is the smallest.
func compareAbs(a, b *api.Decimal) int {
	known := func(d *api.Decimal) bool { return d != nil && d.Unscaled != nil }
	if !known(a) || !known(b) {
		return compareBool(known(a), known(b))
	}
	x, y := rat(*a), rat(*b)
	return x.Abs(x).Cmp(y.Abs(y))
}
