package claim

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/verdict"
	"txlens/testkit/recorded"

	"github.com/go-json-experiment/json"
)

// TestEcho: an answer that says what happened by reference, on real transactions, stands
// as a whole, and the case stays as it was.
func TestEcho(t *testing.T) {
	for _, hash := range []string{"0x5dcdd902dc", "0x769e36370a", "0xc30c589a09", "0x80ce0c71a4", "0x216b67f3ad"} {
		c := assemble.Build(recorded.Find(t, hash))
		before, _ := json.Marshal(c.Result, json.Deterministic(true))
		a := &Answer{TxType: *c.Result.TxType, Protocol: c.Result.Protocol, Confidence: api.High, Summary: "On {chain}, {address:sender} called {call:0} for a fee of {amount:fee}."}
		for _, x := range c.Result.TokenTransfers[:min(len(c.Result.TokenTransfers), maxSteps)] {
			index := strconv.FormatUint(x.LogIndex, 10)
			a.Steps = append(a.Steps, TextRefs{"{address:" + x.From.String() + "} sent {amount:log:" + index + "} to {address:" + x.To.String() + "}.", nil})
		}
		r, d := Apply(c, a, NewIndex(c))
		if d.Total() > 0 || r.Summary == c.Result.Summary || r.Confidence != c.Result.Confidence {
			t.Errorf("%s: dropped %+v, confidence %s; %q", hash, d, r.Confidence, r.Summary)
		}
		if after, _ := json.Marshal(c.Result, json.Deterministic(true)); string(after) != string(before) {
			t.Errorf("%s: the case was changed", hash)
		}
	}
}

// TestSame: the same answer on the same evidence gives the same result.
func TestSame(t *testing.T) {
	first := ""
	for range 5 {
		r, d := apply(t, func(a *Answer) {
			a.Steps = append(a.Steps, TextRefs{"It paid 1,234 USDC.", nil}, TextRefs{"It paid {amount:net:target:0xa0b8…eb48}.", nil})
		})
		b, err := json.Marshal([]any{r, d}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(b)
		}
		if string(b) != first {
			t.Fatalf("%s\n%s", b, first)
		}
	}
}

// TestPieces: texts are dropped one by one, with what they rest on.
func TestPieces(t *testing.T) {
	c := exploitCase(t)
	r, d := Apply(c, &Answer{
		TxType: *c.Result.TxType, Confidence: api.High,
		Summary: "Paid {amount:log:41}. It paid {amount:log:7}.",
		Steps: []TextRefs{
			{"Paid {amount:log:40}.", nil}, {"Paid {amount:log:77}.", []string{"log:40"}}, {"It is {gas}.", []string{"log:77"}}, {"It used {gas}.", []string{"tx"}},
			{"Paid {amount:log:41}. And more.", []string{"log:77"}},
		},
		Risks: []Risk{
			{"bad_debt", "{address:" + vault + "} calls out in {call:0.0.1} before it books.", nil}, {"paused", "Nothing shows it.", []string{"tx"}},
			{"luck", "It is {gas}.", []string{"tx"}}, {"paused", "It used {gas}.", nil},
		},
		Contracts:   []Description{{addr(vault), "holds {amount:received:" + vault + ":" + usdc + "} of depositors"}, {addr(bystand), "calls {call:0}"}, {addr(vault), "was audited and is safe"}},
		Annotations: []Annotation{{2, "the vault calls {address:target} back in {frame:0.0.1}"}, {2, "again {gas}"}, {999, "no such node, {gas}"}, {3, "safe"}},
	}, NewIndex(c))
	want := Dropped{Sentences: 6, Steps: 2, Risks: 4, Descriptions: 2, Annotations: 3}
	if d != want {
		t.Errorf("dropped %+v, want %+v", d, want)
	}
	own := slices.DeleteFunc(slices.Clone(r.Steps), func(s string) bool { return slices.Contains(c.Result.Steps, s) })
	if r.Summary != "Paid 5,000 USDC." || !slices.Equal(own, []string{"Paid 100 USDC.", "It used 21,000 gas.", "Paid 5,000 USDC."}) {
		t.Errorf("%q, %q", r.Summary, r.Steps)
	}
	if len(r.TraceAnnotations) != 1 || r.TraceAnnotations[2] != "the vault calls 0x2222…2222 back in frame 0.0.1" || !slices.Equal(r.Risks, c.Result.Risks) {
		t.Errorf("%v, %q", r.TraceAnnotations, r.Risks)
	}
	i := slices.IndexFunc(r.Contracts, func(k api.Contract) bool { return k.Address == addr(vault) })
	if i < 0 || !strings.HasSuffix(r.Contracts[i].Description, "; holds 100 USDC of depositors") || r.Provenance.Dropped == nil || *r.Provenance.Dropped != d {
		t.Errorf("%+v, %+v", r.Contracts, r.Provenance)
	}
}

// TestHeadline: judgement in the one line is code's.
func TestHeadline(t *testing.T) {
	f := func(summary, want string, flags ...verdict.Flag) {
		t.Helper()
		c := exploitCase(t)
		for _, f := range flags {
			c.Verdict.Risks = append(c.Verdict.Risks, verdict.Risk{Flag: f})
		}
		r, d := Apply(c, &Answer{TxType: *c.Result.TxType, Confidence: api.High, Summary: summary}, NewIndex(c))
		if want == "" {
			want = c.Result.Summary
		}
		if r.Summary != want || (d.Sentences > 0) != (want == c.Result.Summary) {
			t.Errorf("%q: %q, want %q, dropped %+v", summary, r.Summary, want, d)
		}
	}
	f("It paid {amount:log:41}.", "It paid 5,000 USDC.")
	f("It paid {amount:log:41} and is safe.", "It paid 5,000 USDC and is safe. Flagged: bad debt recorded by a lending market, owner of a contract replaced.", verdict.BadDebt, verdict.OwnerChanged, verdict.BadDebt, verdict.FlashLoan)
	f("The contract was audited and is safe.", "")
	f("The contract was audited and is safe. It paid {amount:log:41}.", "")
	f("It paid some coins.", "")
}

// TestRisks: a risk of the model has a flag of the registry that no check has ruled out.
func TestRisks(t *testing.T) {
	c := exploitCase(t)
	f := func(flag verdict.Flag, result verdict.Ruled, want bool) {
		t.Helper()
		for i := range c.Triage.Outcomes {
			if slices.Contains(c.Triage.Outcomes[i].Flags, flag) {
				c.Triage.Outcomes[i].Result = result
			}
		}
		ix := NewIndex(c)
		var d Dropped
		line := ix.risk("risks[0]", Risk{Flag(flag.String()), "It moved {amount:log:41}.", nil}, &d)
		if got := line == flag.String()+": It moved 5,000 USDC."; got != want || (d.Risks == 1) == want {
			t.Errorf("%s %s: %q, dropped %+v", flag, result, line, d)
		}
	}
	f(verdict.BadDebt, verdict.Clean, false)
	f(verdict.BadDebt, verdict.NotApplicable, false)
	f(verdict.BadDebt, verdict.NotChecked, true)
	f(verdict.Drain, verdict.Clean, false)
	f(verdict.Drain, verdict.NotChecked, true)
	f(verdict.StuckValue, verdict.NotChecked, true) // no check looks for it
}

// TestPartialStaysPartial: the mark of a failed phase is not talked away.
func TestPartialStaysPartial(t *testing.T) {
	ev := exploitEvidence(t)
	ev.Failed = []assemble.Failure{{Phase: "price", Reason: "timeout"}}
	c := assemble.Build(ev)
	r, _ := Apply(c, goodAnswer(), NewIndex(c))
	if !r.Partial() || r.Confidence != api.Low || !strings.HasPrefix(r.Summary, api.PartialPrefix) {
		t.Errorf("%s, %s, %q", r.AnalysisModel, r.Confidence, r.Summary)
	}
}

// TestVerdict: the rules keep the last word where they are sure.
func TestVerdict(t *testing.T) {
	f := func(name, hash string, change func(*assemble.Analysis), said api.TxType, want api.TxType, conf api.Confidence, noted bool) {
		t.Helper()
		c := assemble.Build(recorded.Find(t, hash))
		change(c)
		r, _ := Apply(c, &Answer{TxType: said, Confidence: api.High, Summary: "It called {call:0}.", TypeReason: "The evidence decides, {call:0}."}, NewIndex(c))
		if *r.TxType != want || r.Confidence != conf || (len(r.Provenance.Notes) > len(c.Result.Provenance.Notes)) != noted {
			t.Errorf("%s: %s, %s, notes %q", name, *r.TxType, r.Confidence, r.Provenance.Notes)
		}
	}
	const swap = "0x5dcdd902dc"
	same := func(*assemble.Analysis) {}
	as := func(t api.TxType, conf api.Confidence) func(*assemble.Analysis) {
		return func(c *assemble.Analysis) {
			r := *c.Result
			r.TxType, r.Confidence = &t, conf
			c.Result = &r
		}
	}
	f("the same", swap, as(api.TypeSwap, api.High), api.TypeSwap, api.TypeSwap, api.High, false)
	f("sure rules", swap, as(api.TypeSwap, api.High), api.TypeBridge, api.TypeSwap, api.Medium, true)
	f("sure rules, shown", swap, as(api.TypeOther, api.High), api.TypeSwap, api.TypeOther, api.Medium, true)
	f("unsure rules, shown", swap, as(api.TypeOther, api.Medium), api.TypeSwap, api.TypeSwap, api.Medium, true)
	f("unsure rules, not shown", swap, as(api.TypeOther, api.Medium), api.TypeGovernance, api.TypeOther, api.Medium, true)
	f("an exploit without a finding", swap, same, api.TypeExploit, api.TypeSwap, api.Medium, true)
}

// TestRuledOut: that something is clean stands where the rules say so, or could not tell
// and the model points to where it looked; what they decided stays.
func TestRuledOut(t *testing.T) {
	f := func(n NonFinding, want string, change ...func(*assemble.Evidence)) {
		t.Helper()
		ev := exploitEvidence(t)
		for _, c := range change {
			c(ev)
		}
		c := assemble.Build(ev)
		var d Dropped
		ix := NewIndex(c)
		got := strings.Join(ix.ruledOut([]NonFinding{n}, nil, false, &d), "|")
		if got != want || (want == "") != (d.NonFindings == 1) {
			t.Errorf("%s %s: %q, want %q", n.Check, n.Result, got, want)
		}
	}
	noDiff := func(ev *assemble.Evidence) { ev.Diff = nil }
	unknown := func(ev *assemble.Evidence) { forget(ev, wielder) }
	f(NonFinding{"reentrancy", Clean, "", []string{"frame:0"}}, "", unknown) // the rules could not tell from the tree, and code alone could
	f(NonFinding{"caught_inner_failure", Clean, "{count:failed} of {count:calls}", []string{"frame:0.0"}}, "Caught inner failure: clean; 0 failed calls of 6 calls")
	f(NonFinding{"caught_inner_failure", Clean, "it is safe", []string{"frame:0.0"}}, "Caught inner failure: clean; no call failed")
	f(NonFinding{"caught_inner_failure", Clean, "{count:failed}", nil}, "Caught inner failure: clean; no call failed")
	f(NonFinding{"caught_inner_failure", NotChecked, "", nil}, "Caught inner failure: clean; no call failed")
	f(NonFinding{"mixer_funded", Clean, "", []string{"tx"}}, "")
	f(NonFinding{"mixer_funded", Clean, "", []string{"log:41"}}, "Sender funded by a mixer: clean")
	f(NonFinding{"mixer_funded", NotApplicable, "", nil}, "")
	f(NonFinding{"mixer_funded", NotChecked, "", nil}, "Sender funded by a mixer: not checked; where the sender's coin came from lies outside of the transaction")
	f(NonFinding{"sandwich", Clean, "", []string{"log:41"}}, "Sandwich around the transaction: not applicable; it is no swap")
	f(NonFinding{"drained", NotApplicable, "It holds nothing.", nil}, "", noDiff)
	f(NonFinding{"drained", Clean, "", []string{"log:41"}}, "Contract drained by 99 % or more: clean", noDiff)
	f(NonFinding{"luck", Clean, "", []string{"log:41"}}, "")
}

// TestContradictions: for each check a model that calls it clean is not heard where the
// rules have flagged it, or a finding of the result tells of it.
func TestContradictions(t *testing.T) {
	for i, listed := range check.Listed() {
		name := NonCheck(listed.Name)
		for _, said := range []Ruled{Clean, NotApplicable, NotChecked} {
			for _, asked := range []bool{false, true} {
				c := exploitCase(t)
				c.Evidence.Triage = asked
				c.Triage.Outcomes = slices.Clone(c.Triage.Outcomes)
				c.Triage.Outcomes[i].Result = verdict.Found
				a := goodAnswer()
				a.TxType, a.Findings = *c.Result.TxType, nil
				a.NonFindings = []NonFinding{{name, said, "", []string{"log:41", "frame:0"}}}
				r, d := Apply(c, a, NewIndex(c))
				if d.NonFindings != 1 || slices.ContainsFunc(r.NonFindings, func(l string) bool { return headed(l, listed) }) {
					t.Errorf("%s %s, asked %v: dropped %d, %q", name, said, asked, d.NonFindings, r.NonFindings)
				}
			}
		}
	}
	r, d := apply(t, func(a *Answer) { a.NonFindings = []NonFinding{{"reentrancy", NotChecked, "", nil}} })
	if len(r.Findings) != 1 || len(r.NonFindings) != 0 || d.NonFindings != 1 {
		t.Errorf("a finding of its own: %d findings, %q, dropped %d", len(r.Findings), r.NonFindings, d.NonFindings)
	}
}

// headed reports whether a line is of a check.
func headed(line string, c *check.Check) bool {
	title := strings.ToUpper(c.Title[:1]) + c.Title[1:]
	return strings.HasPrefix(line, title+": ")
}

// TestObserve: what a tool has answered exists from then on.
func TestObserve(t *testing.T) {
	c := exploitCase(t)
	ix := NewIndex(c)
	told := map[string]Reason{"It calls {address:" + bystand + "} in {call:0}.": Unresolved, "The call of {selector:0xabcdef01}.": Unresolved}
	for s, want := range told {
		if got := ix.say(s, mode{limit: maxText}); got.text != "" || ix.drops[len(ix.drops)-1].Why != want {
			t.Errorf("before: %q", s)
		}
	}
	ix.AddAnswer(map[string]any{"balance": "123456789", "to": bystand, "selector": "0xabcdef01", "source": "return _exchangeRateStored * 3; // and 987654321"})
	for s := range told {
		if got := ix.say(s, mode{limit: maxText}); got.text == "" {
			t.Errorf("after: %q: %v", s, ix.drops)
		}
	}
	if !ix.raws["123456789"] || ix.raws["987654321"] {
		t.Error("an integer of an answer is unknown, or a comment counts")
	}
	ix.AddAnswer(map[string]any{"address": vault, "slot": "0x9", "value": "0x2a"})
	if !ix.exists("slot:"+vault+":9") || ix.exists("slot:"+vault+":10") || ix.exists("slot:"+wielder+":9") {
		t.Error("a slot that a tool has read")
	}
	ix.AddAnswer(func() {}) // no JSON: nothing
}

// TestObserveAsked: a question brings nothing into the evidence by being repeated.
func TestObserveAsked(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	invented := "0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef"
	ix.AddAnswerTo(1, map[string]any{"address": invented, "block": 424242, "wei": "7777777", "slot": "0x9"},
		[]byte(`{"address":"`+strings.ToUpper(invented[2:])+`","address2":"`+invented+`","block":424242,"slot":"0x9"}`))
	var a api.Addr
	if err := a.UnmarshalText([]byte(invented)); err != nil {
		t.Fatal(err)
	}
	if ix.addresses[a] || ix.raws["424242"] {
		t.Error("what was asked became evidence")
	}
	if !ix.raws["7777777"] {
		t.Error("what was answered did not")
	}
}
