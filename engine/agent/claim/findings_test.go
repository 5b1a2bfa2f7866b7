package claim

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"

	"github.com/ethereum/go-ethereum/common"
)

// goodFinding is the finding that the made-up exploit bears out.
func goodFinding() Finding {
	return Finding{
		ID: "reenter", BrokenInvariant: "{address:" + vault + "} must not pay out more than {slot:" + vault + ":7} owes; it paid {amount:log:41} for {amount:log:40} ({frame:0.0}, {log:41}).",
		Category: api.Reentrancy, Severity: api.SeverityMedium, Status: api.Confirmed, Confidence: api.High,
		Victim: []api.Addr{addr(vault)}, Attacker: []api.Addr{addr(attacker), addr(wielder)},
		Evidence: []api.Evidence{
			{Claim: "The vault calls back before it has booked the deposit.", Kind: api.Observed, Frame: "0.0.1", Source: "trace"},
			{Claim: "The vault pays {amount:log:41}.", Kind: api.Observed, LogIndex: u64(41), Source: "receipt"},
			{Claim: "The booked sum falls by {figure:1}.", Kind: api.Observed, Address: addrp(vault), Slot: "0x7", Before: "9000000000", After: "0xf4610900", Source: "state"},
		},
		Check: "before(" + vault + ", 7) - after(" + vault + ", 7) > received(" + vault + ", " + usdc + ")",
	}
}

func goodAnswer() *Answer {
	return &Answer{
		Findings: []Finding{goodFinding()}, TxType: api.TypeExploit, Confidence: api.High,
		Summary: "An attacker re-entered {address:" + vault + "} and took {amount:log:41} for {amount:log:40}.",
		Figures: []Figure{{Difference, []string{"before:" + vault + ":7", "after:" + vault + ":7"}}},
		Steps: []TextRefs{
			{"{address:sender} called {call:0}.", nil},
			{"{address:target} deposited {amount:log:40} and was called back.", []string{"frame:0.0.1"}},
			{"It withdrew {amount:log:41} ({usd:log:41}) while the deposit was running.", []string{"log:41"}},
		},
	}
}

func apply(t testing.TB, change func(*Answer)) (*api.Result, Dropped) {
	t.Helper()
	a := goodAnswer()
	if change != nil {
		change(a)
	}
	c := exploitCase(t)
	return Apply(c, a, NewIndex(c))
}

// TestExploit: what the evidence bears out goes into the result as it was said.
func TestExploit(t *testing.T) {
	r, d := apply(t, nil)
	if r.TxType == nil || *r.TxType != api.TypeExploit || len(r.Findings) != 1 {
		t.Fatalf("type %v, %d findings, dropped %+v, notes %q", *r.TxType, len(r.Findings), d, r.Provenance.Notes)
	}
	f := r.Findings[0]
	if f.Status != api.Confirmed || f.Severity != api.SeverityMedium || f.Category != api.Reentrancy || f.ID != "F1" || f.Check == "" || len(f.Evidence) != 3 {
		t.Errorf("%+v", f)
	}
	if f.Evidence[2].Before != "0x"+strings.Repeat("0", 55)+"218711a00" {
		t.Errorf("before: %s", f.Evidence[2].Before)
	}
	if d.Total() != 0 || r.Provenance.Dropped != nil || len(r.Steps) != 7 || r.Summary != "Exploit by reentrancy: An attacker re-entered \"SavingsVault\" (0x3333…3333) and took 5,000 USDC for 100 USDC." {
		t.Errorf("dropped %+v; %q; %q", d, r.Summary, r.Steps)
	}
}

// TestNotShown: an exploit that lacks any of what makes one is none.
func TestNotShown(t *testing.T) {
	f := func(name string, change func(*Finding), want api.FindingStatus) {
		t.Helper()
		c := exploitCase(t)
		ix := NewIndex(c)
		a := goodAnswer()
		change(&a.Findings[0])
		var d Dropped
		ix.compute(a.Figures)
		got := ix.findings(a.Findings, &d)
		switch {
		case want == "" && len(got) > 0:
			t.Errorf("%s: stands as %+v", name, got[0].Finding)
		case want != "" && (len(got) == 0 || got[0].Status != want):
			t.Errorf("%s: %+v, want %s", name, got, want)
		case d.Total() == 0:
			t.Errorf("%s: nothing is counted", name)
		}
		r, _ := Apply(exploitCase(t), a, NewIndex(c))
		if exploit := *r.TxType == api.TypeExploit; exploit != (want == api.Probable) || exploit != (len(r.Findings) > 0) {
			t.Errorf("%s: type %s with %d findings", name, *r.TxType, len(r.Findings))
		}
		if *r.TxType != api.TypeExploit && (r.Confidence == api.High || strings.Contains(r.Summary, "attacker")) {
			t.Errorf("%s: confidence %s, %q", name, r.Confidence, r.Summary)
		}
	}
	f("the check is false", func(f *Finding) { f.Check = strings.Replace(f.Check, ">", "<", 1) }, "")
	f("no check", func(f *Finding) { f.Check = "" }, api.Possible)
	f("a check that cannot fail", func(f *Finding) { f.Check = "sent(" + vault + ", " + usdc + ") >= 0" }, api.Possible)
	f("a check of a movement alone", func(f *Finding) { f.Check = "net(" + vault + ", " + usdc + ") < 0" }, api.Possible)
	f("a check with a number out of nowhere", func(f *Finding) { f.Check += " + 77777777" }, api.Possible)
	f("evidence inferred", func(f *Finding) { f.Evidence[1].Kind = api.Inferred }, api.Probable)
	f("one item resolves to nothing", func(f *Finding) { f.Evidence[1].LogIndex = u64(99) }, api.Probable)
	f("a claim of which a sentence does not stand", func(f *Finding) { f.Evidence[1].Claim += " It paid 7." }, api.Probable)
	f("a slot that held something else", func(f *Finding) { f.Evidence[2].Before = "9000000001" }, api.Probable)
	f("a slot that holds something else", func(f *Finding) { f.Evidence[2].After = "7" }, api.Probable)
	f("no evidence resolves", func(f *Finding) {
		f.Evidence = []api.Evidence{{Claim: "x", Kind: api.Observed, Frame: "0.7"}, {Claim: "y", Kind: api.Observed}}
	}, "")
	f("the victim does not exist", func(f *Finding) { f.Victim = []api.Addr{addr(bystand)} }, "")
	f("the victim is the sender's own", func(f *Finding) { f.Victim = []api.Addr{addr(wielder)} }, "")
	f("a false amount in the invariant", func(f *Finding) {
		f.BrokenInvariant = strings.Replace(f.BrokenInvariant, "{amount:log:41}", "50,000 USDC", 1)
	}, "")
	f("an amount that did not move in the invariant", func(f *Finding) { f.BrokenInvariant = strings.Replace(f.BrokenInvariant, "log:41}", "log:42}", 1) }, "")
	f("a flash loan and nothing else", func(f *Finding) {
		f.Category, f.Amplifiers, f.BrokenInvariant = api.UnknownCause, []api.Amplifier{api.FlashLoan}, "The vault must not be used with a flash loan; it was ({frame:0.0})."
	}, "")
	f("nothing re-entered the loser", func(f *Finding) { f.Status = api.Possible; f.Amplifiers = []api.Amplifier{"mixer_funded"} }, api.Possible)
}

// TestNobodyLost: without a loser there is no exploit, however well the break is shown.
func TestNobodyLost(t *testing.T) {
	f := func(name string, tokens ...api.TokenChange) {
		t.Helper()
		c := exploitCase(t)
		r := *c.Result
		r.BalanceChanges = slices.Clone(r.BalanceChanges)
		for i := range r.BalanceChanges {
			if b := &r.BalanceChanges[i]; b.Address == addr(vault) {
				b.Tokens = append(slices.Clone(b.Tokens), tokens...)
				if tokens == nil {
					b.Tokens = nil
				}
			}
		}
		c.Result = &r
		got, _ := Apply(c, goodAnswer(), NewIndex(c))
		if *got.TxType == api.TypeExploit || len(got.Findings) > 0 || got.Confidence == api.High {
			t.Errorf("%s: %s, %d findings", name, *got.TxType, len(got.Findings))
		}
	}
	worth := api.Decimal{Unscaled: big.NewInt(4890)}
	f("what the vault got is worth as much", api.TokenChange{RawSignedAmount: "1", ValueUSD: &worth})
	f("what the vault got has no price", api.TokenChange{RawSignedAmount: "1"})
	f("the vault's balance did not move")
	r, _ := apply(t, func(a *Answer) { a.Findings[0].Attacker = append(a.Findings[0].Attacker, addr(vault)) })
	if *r.TxType == api.TypeExploit {
		t.Error("the attacker is the loser")
	}
}

// TestCaps: what confidence and severity may be.
func TestCaps(t *testing.T) {
	f := func(name string, change func(*assemble.Evidence), said api.Severity, wantConf api.Confidence, wantSev api.Severity) {
		t.Helper()
		ev := exploitEvidence(t)
		change(ev)
		a := goodAnswer()
		a.Findings[0].Severity = said
		a.Findings[0].BrokenInvariant = "The vault must not pay out more than it owes; it did ({log:41})."
		a.Findings[0].Evidence = a.Findings[0].Evidence[1:]
		var d Dropped
		ix := NewIndex(assemble.Build(ev))
		ix.compute(a.Figures)
		got := ix.findings(a.Findings, &d)
		if len(got) != 1 || got[0].Confidence != wantConf || got[0].Severity != wantSev {
			t.Errorf("%s: %+v, want %s, %s", name, got, wantConf, wantSev)
		}
	}
	same := func(*assemble.Evidence) {}
	f("as it is", same, api.SeverityMedium, api.High, api.SeverityMedium)
	f("the loss is worth more than said", same, api.SeverityInfo, api.High, api.SeverityMedium)
	f("what was done is worse than the loss", same, api.SeverityCritical, api.High, api.SeverityCritical)
	f("no trace", func(ev *assemble.Evidence) { ev.Tree = nil }, api.SeverityMedium, api.Medium, api.SeverityMedium)
	f("no source of the victim", func(ev *assemble.Evidence) { ev.Contracts = nil }, api.SeverityMedium, api.Low, api.SeverityMedium)
	f("no price", func(ev *assemble.Evidence) { ev.Prices = nil }, api.SeverityLow, api.High, api.SeverityLow)
}

// TestTieBreaks: the tree decides between causes that are taken for each other.
func TestTieBreaks(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(said, want api.Category, wantSure bool) {
		t.Helper()
		x := goodFinding()
		x.Category = said
		if got, sure := ix.recategorised(&x); got != want || sure != wantSure {
			t.Errorf("%s: %s, %v; want %s, %v", said, got, sure, want, wantSure)
		}
	}
	f(api.Reentrancy, api.Reentrancy, true)
	f(api.PriceManipulation, api.PriceManipulation, false) // nothing was traded
	f(api.AccessControl, api.AccessControl, true)
	if got := ix.c.Case.Reentered(); !slices.Equal(got, []common.Address{common.Address(addr(wielder)), common.Address(addr(vault))}) {
		t.Errorf("re-entered: %v", got)
	}
}

// TestLinks: findings are named in the order of the calls, one is the first.
func TestLinks(t *testing.T) {
	r, _ := apply(t, func(a *Answer) {
		second := goodFinding()
		second.ID, second.CausedBy, second.Primary = "later", "reenter", true
		second.Evidence = second.Evidence[1:]
		a.Findings = []Finding{second, a.Findings[0]}
	})
	if len(r.Findings) != 2 || r.Findings[0].ID != "F1" || r.Findings[1].CausedBy != "F1" || !r.Findings[1].Primary || r.Findings[0].Primary {
		t.Errorf("%+v", r.Findings)
	}
}
