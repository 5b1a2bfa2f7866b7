package main

import (
	"errors"
	"fmt"
	"slices"

	"txlens/engine/api"
)

// Outcomes of a case. A partial result is not counted as right: it holds the conclusions of
// the rules, and the model that was asked for gave no answer.
const (
	evalComplete = "complete"
	evalPartial  = "partial"
	evalFailed   = "failed"
)

// evalSheet is an evaluation. Without a model the same cases give the same bytes.
type evalSheet struct {
	Model  string     `json:"model"` // rules: none
	Cases  []evalRow  `json:"cases"` // by name
	Totals evalTotals `json:"totals"`
}

// evalRow is the outcome of one case.
type evalRow struct {
	Name         string       `json:"name"`
	Outcome      string       `json:"outcome"`
	Error        string       `json:"error,omitempty"`
	Judged       []evalJudged `json:"judged"`
	FalseExploit bool         `json:"falseExploit"`
	Dropped      api.Dropped  `json:"dropped"` // of what the model said
	Tokens       evalTokens   `json:"tokens"`
	CostUSD      api.Decimal  `json:"costUsd"` // of the model
	nano         int64
}

// evalJudged is one expectation.
type evalJudged struct {
	Field string   `json:"field"` // txType, protocol, victim, category
	Want  []string `json:"want"`
	Got   []string `json:"got"`
	Right bool     `json:"right"`
}

type evalTokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
}

// hear stores the usage of the model so far.
func (r *evalRow) hear(e api.Event) {
	if e.Type == api.EventTokens {
		r.Tokens = evalTokens{*e.InputTokens, *e.OutputTokens, *e.CacheReadTokens, *e.CacheWriteTokens}
	}
}

// judge compares a result with the expectations.
func (r *evalRow) judge(want *evalExpect, res *api.Result) {
	complete := r.Outcome == evalComplete
	note := func(field string, want, got []string, right bool) {
		if len(want) > 0 {
			r.Judged = append(r.Judged, evalJudged{field, want, got, right && complete})
		}
	}
	any := func(want, got []string) bool {
		return slices.ContainsFunc(got, func(s string) bool { return slices.Contains(want, s) })
	}
	kind, protocol := []string{""}, []string{""}
	if res.TxType != nil {
		kind[0] = string(*res.TxType)
	}
	if res.Protocol != nil {
		protocol[0] = *res.Protocol
	}
	var victims, causes []string
	for _, f := range res.Findings {
		for _, v := range f.Victim {
			victims = append(victims, v.String())
		}
		if f.CausedBy == "" {
			causes = append(causes, string(f.Category))
		}
	}
	types := texts(want.TxType)
	note("txType", types, kind, any(types, kind))
	note("protocol", want.Protocol, protocol, any(want.Protocol, protocol))
	missing := slices.ContainsFunc(want.Victim, func(v string) bool { return !slices.Contains(victims, v) })
	note("victim", want.Victim, victims, !missing)
	categories := texts(want.Category)
	note("category", categories, causes, any(categories, causes))

	r.FalseExploit = kind[0] == string(api.TypeExploit) && !want.isExploit()
	if p := res.Provenance; p != nil && p.Dropped != nil {
		r.Dropped = *p.Dropped
	}
}

// isExploit reports whether it would be right to call the transaction one.
func (e *evalExpect) isExploit() bool {
	return slices.Contains(e.TxType, api.TypeExploit) || len(e.TxType) == 0 && len(e.Victim)+len(e.Category) > 0
}

func texts[S ~string](list []S) (out []string) {
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

// evalTotals sums the rows up. Unresolved are references of findings that point to
// nothing, Dropped all that the evidence does not support.
type evalTotals struct {
	Cases         int         `json:"cases"`
	Partial       int         `json:"partial"`
	Failed        int         `json:"failed"`
	Judged        int         `json:"judged"`
	Right         int         `json:"right"`
	Fields        []evalField `json:"fields"`
	FalseExploits int         `json:"falseExploits"`
	Unresolved    int         `json:"unresolvedEvidence"`
	Dropped       int         `json:"dropped"`
	Tokens        evalTokens  `json:"tokens"`
	CostUSD       api.Decimal `json:"costUsd"`
	nano          int64
}

type evalField struct {
	Field  string `json:"field"`
	Judged int    `json:"judged"`
	Right  int    `json:"right"`
}

func (t *evalTotals) add(r *evalRow) {
	t.Cases++
	switch r.Outcome {
	case evalPartial:
		t.Partial++
	case evalFailed:
		t.Failed++
	}
	for _, j := range r.Judged {
		f := t.field(j.Field)
		f.Judged++
		t.Judged++
		if j.Right {
			f.Right++
			t.Right++
		}
	}
	if r.FalseExploit {
		t.FalseExploits++
	}
	t.Unresolved += r.Dropped.Evidence
	t.Dropped += r.Dropped.Total()
	t.Tokens.Input += r.Tokens.Input
	t.Tokens.Output += r.Tokens.Output
	t.Tokens.CacheRead += r.Tokens.CacheRead
	t.Tokens.CacheWrite += r.Tokens.CacheWrite
	t.nano += r.nano
	t.CostUSD = api.NanoDollars(t.nano)
}

// field is the sum of one kind of expectation. They stay in the order of judge.
func (t *evalTotals) field(name string) *evalField {
	if t.Fields == nil {
		for _, f := range []string{"txType", "protocol", "victim", "category"} {
			t.Fields = append(t.Fields, evalField{Field: f})
		}
	}
	i := slices.IndexFunc(t.Fields, func(f evalField) bool { return f.Field == name })
	return &t.Fields[i]
}

// missed lists the thresholds that are missed.
func (t *evalTotals) missed(minAccuracy, maxFalse int) error {
	var errs []error
	if t.Right*100 < t.Judged*minAccuracy {
		errs = append(errs, fmt.Errorf("%d of %d expectations are met, less than %d %%", t.Right, t.Judged, minAccuracy))
	}
	if maxFalse >= 0 && t.FalseExploits > maxFalse {
		errs = append(errs, fmt.Errorf("%d false exploits, more than %d", t.FalseExploits, maxFalse))
	}
	return errors.Join(errs...)
}
