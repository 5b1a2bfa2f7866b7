package claim

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/assemble/recorded"
	"txlens/engine/check"
	"txlens/engine/verdict"

	"github.com/go-json-experiment/json"
)

// TestEcho: an answer that says what the rules say changes nothing of it, on real
// transactions, and the case stays as it was.
func TestEcho(t *testing.T) {
	for _, hash := range []string{"0x5dcdd902dc", "0x769e36370a", "0xc30c589a09", "0x80ce0c71a4", "0x216b67f3ad"} {
		c := assemble.Build(recorded.Find(t, hash))
		before, _ := json.Marshal(c.Result, json.Deterministic(true))
		a := &Answer{TxType: *c.Result.TxType, Protocol: c.Result.Protocol, Confidence: api.High, Summary: c.Result.Summary}
		for _, s := range c.Result.Steps {
			a.Steps = append(a.Steps, Said{s, []string{"tx"}})
		}
		r, d := Apply(c, a, NewIndex(c))
		if d.Total() > 0 || r.Summary != c.Result.Summary || !slices.Equal(r.Steps, c.Result.Steps) || r.Confidence != c.Result.Confidence {
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
		r, d := apply(t, func(a *Answer) { a.Steps = append(a.Steps, Said{"It paid 1,234 USDC.", nil}) })
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
		Summary:     "Paid 5,000 USDC. It paid 7,777 USDC.",
		Steps:       []Said{{"Paid 100 USDC.", []string{"log:40"}}, {"Paid 100 USDC.", []string{"log:77"}}, {"Paid 5,000 USDC. And 12,345 more.", []string{"log:77", "frame:0.0.1.0"}}},
		Risks:       []Said{{"late_booking: the vault calls out before it books.", []string{"frame:0.0.1"}}, {"Nothing shows it.", nil}},
		Contracts:   []Description{{addr(vault), "holds USDC of depositors"}, {addr(bystand), "is not here"}},
		Annotations: []Annotation{{2, "the vault calls back"}, {2, "again"}, {999, "no such node"}},
	}, NewIndex(c))
	want := Dropped{Sentences: 2, Steps: 1, Risks: 1, Descriptions: 1, Annotations: 2}
	if d != want {
		t.Errorf("dropped %+v, want %+v", d, want)
	}
	own := slices.DeleteFunc(slices.Clone(r.Steps), func(s string) bool { return slices.Contains(c.Result.Steps, s) })
	if r.Summary != "Paid 5,000 USDC." || !slices.Equal(own, []string{"Paid 100 USDC.", "Paid 5,000 USDC."}) {
		t.Errorf("%q, %q", r.Summary, r.Steps)
	}
	if len(r.TraceAnnotations) != 1 || r.TraceAnnotations[2] != "the vault calls back" || len(r.Risks) != len(c.Result.Risks)+1 {
		t.Errorf("%v, %q", r.TraceAnnotations, r.Risks)
	}
	i := slices.IndexFunc(r.Contracts, func(k api.Contract) bool { return k.Address == addr(vault) })
	if i < 0 || !strings.HasSuffix(r.Contracts[i].Description, "; holds USDC of depositors") || r.Provenance.Dropped == nil || *r.Provenance.Dropped != d {
		t.Errorf("%+v, %+v", r.Contracts, r.Provenance)
	}
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

// TestNumbers: what a number may be by what stands around it.
func TestNumbers(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	ix.compute([]Figure{
		{"98 %", "percent_of", []string{"net(" + vault + ", " + usdc + ")", "sent(" + vault + ", " + usdc + ")"}},
		{"5,100 USDC", "sum", []string{"transfer(40)", "transfer(41)"}},
		{"50x", "ratio", []string{"transfer(41)", "transfer(40)"}},
	})
	f := func(s string, want bool) {
		t.Helper()
		if got := ix.stands(s); got != want {
			t.Errorf("%q: %v (%s)", s, got, ix.sentence(s))
		}
	}
	f("It paid 5,000 USDC, worth $5,000.", true)
	f("It paid 5,000 USDC, worth $4,960.", true) // within 1 %
	f("It paid 5,000 USDC, worth $4,900.", true) // what the vault lost
	f("It paid 5,000 USDC, worth $4,700.", false)
	f("It paid 5000000000 base units of USDC.", true)
	f("It paid 5k USDC.", true)
	f("It paid 5 thousand USDC.", true)
	f("It paid 5 million USDC.", false)
	f("It paid 500 USDC.", false)
	f("It lost 4,900 USDC.", true)
	f("It lost 98 % of what it paid.", true)
	f("It lost 97 % of what it paid.", false)
	f("It moved 5,100 USDC.", true)
	f("It moved 5,200 USDC.", false)
	f("It paid 50x of what it got.", true)
	f("It paid 60x of what it got.", false)
	f("Two transfers took place.", true)
	f("Seventeen transfers took place.", false)
	f("Frame 0.0.1.0 and frame 0.0 did it.", true)
	f("Frame 0.4 did it.", false)
	f("Log 41 and log: 40 show it.", true)
	f("Logs 44 shows it.", false)
	f("In block 19,000,000 at 19:06 on 2024-01-11.", true)
	f("In block 19,000,001.", false)
	f("The fee was 0.000063 ETH, 63,000 gwei or 63000000000000 wei.", true)
	f("The fee was 0.00063 ETH.", false)
	f("It used 21,000 gas.", true)
	f("It used 22,000 gas.", false)
	f("Slot 7 fell from 9,000,000,000 to 4,100,000,000.", true)
	f("Slot 7 fell to 4,200,000,000.", false)
	f("Selector 0x3ccfd60b of 0x3333…3333.", true)
	f("Selector 0x3ccfd60c.", false)
	f("The ERC-20 token USDC (EIP-2612, 256-bit).", true)
	f("The vault of SavingsVault calls withdraw on 0x2222…2222.", true)
	f("The vault of AcmeVault calls withdraw.", false)
	f("The vault calls withdrawAllFunds.", false)
}

// TestFigures: what does not come out, mixes tokens or repeats itself is dropped.
func TestFigures(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(shown, kind string, want bool, of ...string) {
		t.Helper()
		if got := ix.compute([]Figure{{shown, kind, of}}) == 0; got != want {
			t.Errorf("%s as %s of %q: %v", shown, kind, of, got)
		}
	}
	f("4,900 USDC", "difference", true, "transfer(41)", "transfer(40)")
	f("4,901 USDC", "difference", false, "transfer(41)", "transfer(40)")
	f("$4,900", "difference", true, "transfer(41)", "transfer(40)")
	f("-54.4 %", "percent_change", true, "before("+vault+", 7)", "after("+vault+", 7)")
	f("2 %", "percent_of", true, "transfer(40)", "transfer(41)")
	f("1.11 %", "percent_of", false, "transfer(40)", "before("+vault+", 7)") // a token and no token
	f("10,000 USDC", "sum", false, "transfer(41)", "transfer(41)")
	f("5,000", "sum", false, "transfer(41)")
	f("5,000", "sum", false, "transfer(41)", "1000")
	f("5,000", "sum", false, "transfer(41)", "transfer(40) + 1")
	f("5,000", "sum", false, "transfer(41)", "nothing(1)")
}

// TestVerdict: the rules keep the last word where they are sure.
func TestVerdict(t *testing.T) {
	f := func(name, hash string, change func(*assemble.Case), said api.TxType, want api.TxType, conf api.Confidence, noted bool) {
		t.Helper()
		c := assemble.Build(recorded.Find(t, hash))
		change(c)
		r, _ := Apply(c, &Answer{TxType: said, Confidence: api.High, Summary: c.Result.Summary, TypeReason: "The evidence decides."}, NewIndex(c))
		if *r.TxType != want || r.Confidence != conf || (len(r.Provenance.Notes) > len(c.Result.Provenance.Notes)) != noted {
			t.Errorf("%s: %s, %s, notes %q", name, *r.TxType, r.Confidence, r.Provenance.Notes)
		}
	}
	const swap = "0x5dcdd902dc"
	same := func(*assemble.Case) {}
	as := func(t api.TxType, conf api.Confidence) func(*assemble.Case) {
		return func(c *assemble.Case) {
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
	f(NonFinding{"caught_inner_failure", Clean, "nothing failed", []string{"frame:0.0"}}, "Caught inner failure: clean; nothing failed")
	f(NonFinding{"caught_inner_failure", Clean, "nothing failed", nil}, "Caught inner failure: clean; no call failed")
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
	told := []string{"The balance was 123,456,789 units.", "It calls 0x4444444444444444444444444444444444444444.", "Selector 0xabcdef01 was called.", "The price was $31.07.", "It reads _exchangeRateStored."}
	for _, s := range told {
		if ix.stands(s) {
			t.Errorf("before: %q", s)
		}
	}
	ix.Observe(map[string]any{"balance": "123456789", "to": bystand, "selector": "0xabcdef01", "priceUsd": api.Decimal{Unscaled: big.NewInt(3107), Scale: 2}, "source": "return _exchangeRateStored * 3; // and 987654321"})
	for _, s := range told {
		if !ix.stands(s) {
			t.Errorf("after: %q: %s", s, ix.sentence(s))
		}
	}
	if ix.stands("The loss was 987,654,321 units.") {
		t.Error("a comment counts")
	}
	ix.Observe(map[string]any{"address": vault, "slot": "0x9", "value": "0x2a"})
	if !ix.exists("slot:"+vault+":9") || ix.exists("slot:"+vault+":10") || ix.exists("slot:"+wielder+":9") {
		t.Error("a slot that a tool has read")
	}
	ix.Observe(func() {}) // no JSON: nothing
}

// TestObserveAsked: a question brings nothing into the evidence by being repeated.
func TestObserveAsked(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	invented := "0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef"
	ix.ObserveAsked(map[string]any{"address": invented, "block": 424242, "wei": "7777777", "slot": "0x9"},
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
