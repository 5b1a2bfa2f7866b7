package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"
)

// outcome makes the checks with these risks of the rules, and gives the result of one.
func outcome(t *testing.T, name string, v *classify.Verdict) verdict.Outcome {
	t.Helper()
	root := &trace.Frame{Kind: trace.Call, Status: trace.OK}
	in := &facts.Input{Tx: &ethrpc.Transaction{}, Receipt: &ethrpc.Receipt{}, Succeeded: true, Flow: &flow.Flow{},
		Tree: &trace.Tree{Root: root, Frames: []*trace.Frame{root}, Source: trace.SourceDebug}}
	for _, o := range Run(&Input{Case: facts.Read(in), Verdict: v}).Outcomes {
		if o.Name == name {
			return o.Outcome
		}
	}
	t.Fatalf("no check is called %s", name)
	return verdict.Outcome{}
}

// TestFlagsAreFound: each flag that a check is about makes it found, whatever the type
// of the transaction.
func TestFlagsAreFound(t *testing.T) {
	f := func(check string, flags ...verdict.Flag) {
		t.Helper()
		for _, flag := range flags {
			if got := outcome(t, check, &classify.Verdict{Risks: []verdict.Risk{{Flag: flag}}}); got.Result != verdict.Found {
				t.Errorf("%s with the flag %s: %s", check, flag, got.Result)
			}
		}
		if got := outcome(t, check, &classify.Verdict{}); got.Result == verdict.Found || got.Why.Form == 0 {
			t.Errorf("%s without a flag: %+v", check, got)
		}
	}
	f("control_changed", verdict.ControlFlags()...)
	f("control_changed", verdict.ModuleDisabled, verdict.UninitialisedTakeover)
	f("sandwich", verdict.Sandwich)
	f("drained", verdict.Drain)
	f("price_moved", verdict.PriceMoved)
	f("flash_loan", verdict.FlashLoan)
	f("unlimited_approval", verdict.UnlimitedApproval, verdict.OperatorApproval)
	f("unverified_delegatecall", verdict.UnverifiedDelegatecall)
	f("caught_inner_failure", verdict.CaughtInnerFailure, verdict.InnerFailure)
	f("lookalike_address", verdict.AddressPoisoning)
	f("bad_debt", verdict.BadDebt)
	f("solvency", verdict.BadDebt)
	f("bounded_output", verdict.NoSlippageLimit)
	if slices.Contains(verdict.ControlFlags(), verdict.Paused) {
		t.Error("a pause changes no control")
	}
	if got := outcome(t, "sandwich", &classify.Verdict{Sandwich: &facts.Sandwich{}}); got.Result != verdict.Found {
		t.Errorf("a part of a sandwich: %s", got.Result)
	}
}

// TestCausesOfChecks: each cause is a category. Several checks may share one, but only one of
// them has a line in results, so that a finding contradicts one line.
func TestCausesOfChecks(t *testing.T) {
	seen := map[api.Category]string{}
	for _, c := range checks() {
		for _, cause := range c.Causes {
			if !slices.Contains(cause.Enum(), any(cause)) {
				t.Errorf("check %s: its cause %q is no category; use one of %v, or add it to engine/api/finding.go and enum.go", c.Name, cause, cause.Enum())
			}
			if !c.Listed() {
				continue
			}
			if first := seen[cause]; first != "" {
				t.Errorf("category %s belongs to check %s; remove it from the causes of check %s, or remove the ruleOut of one of them", cause, first, c.Name)
			}
			seen[cause] = c.Name
			if cause == api.UnknownCause {
				t.Errorf("check %s: %s is no cause that one check can report; remove it", c.Name, cause)
			}
		}
	}
}

// TestRulesAreDeclared: each rule has a name of its own and a sentence, and a scene of the tests in
// which it fires.
func TestRulesAreDeclared(t *testing.T) {
	names := map[string]bool{}
	scenes := sceneLines(t)
	for _, c := range checks() {
		for i := range c.rules {
			r := &c.rules[i]
			if r.name == "" || names[r.name] {
				t.Errorf("check %s: the rule %q has no name of its own", c.Name, r.name)
			}
			names[r.name] = true
			if r.fires == nil || r.sentence == nil {
				t.Errorf("rule %s of check %s: fires and sentence must be set; see render.go for pieces", r.name, c.Name)
			}
			fires := regexp.MustCompile(`(?m)^  `+r.name+` grade \d, category (\S+?),`).FindAllStringSubmatch(scenes, -1)
			if len(fires) == 0 {
				t.Errorf("rule %s of check %s: no scene of the tests makes it fire; add one and its twin to the test of its kind", r.name, c.Name)
			}
			for _, m := range fires {
				if !slices.Contains(c.Causes, api.Category(m[1])) {
					t.Errorf("rule %s finds %s; add it to the causes of check %s", r.name, m[1], c.Name)
				}
			}
		}
	}
}

// sceneLines are what the tests of scenes found.
func sceneLines(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "matches", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	var all []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return string(all)
}
