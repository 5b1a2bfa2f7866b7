package claim

import (
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/narrate"
	"txlens/engine/trace"
)

// TestFindingsAgree: what a finding of the model says, and what the rest of the result
// says of it, agree with each other.
func TestFindingsAgree(t *testing.T) {
	f := func(name string, change func(*assemble.Evidence, *Finding), missing ...string) {
		t.Helper()
		ev := exploitEvidence(t)
		a := goodAnswer()
		a.Risks = nil
		change(ev, &a.Findings[0])
		c := assemble.Build(ev)
		r, d := Apply(c, a, NewIndex(c))
		if len(r.Findings) != 1 {
			t.Fatalf("%s: %d findings, dropped %+v, %q", name, len(r.Findings), d, r.Provenance.Notes)
		}
		got := r.Findings[0]
		if (got.Confidence == api.Low) && len(got.MissingDataToConfirm) == 0 || !slices.Equal(got.MissingDataToConfirm, missing) {
			t.Errorf("%s: confidence %s, missing %q, want %q", name, got.Confidence, got.MissingDataToConfirm, missing)
		}
		if !slices.Contains(r.Risks, "reentrancy: "+got.BrokenInvariant) || len(r.Risks) != len(c.Result.Risks)+1 {
			t.Errorf("%s: risks %q", name, r.Risks)
		}
		text := got.BrokenInvariant
		for _, e := range got.Evidence {
			text += " " + e.Claim
		}
		if strings.Contains(text, "…") || strings.Contains(text, "..") || !strings.Contains(text, vault) {
			t.Errorf("%s: %s", name, text)
		}
		roles := map[api.Addr]string{}
		for i, x := range r.Addresses {
			roles[x.Address] = x.Role
			if c.Result.Addresses[i].Role == x.Role && x.Address == addr(vault) {
				t.Errorf("%s: the role of the vault was %q before", name, x.Role)
			}
		}
		if roles[addr(vault)] != "victim, vulnerable contract" || roles[addr(wielder)] != "attacker" || roles[addr(attacker)] != "sender" {
			t.Errorf("%s: roles %v", name, roles)
		}
		for _, b := range r.BalanceChanges {
			if b.Address == addr(vault) && b.Role != roles[b.Address] {
				t.Errorf("%s: the role in the balances is %q", name, b.Role)
			}
		}
	}
	f("as it is", func(*assemble.Evidence, *Finding) {})
	f("short addresses", func(_ *assemble.Evidence, x *Finding) {
		x.BrokenInvariant = "{address:0x3333…3333} must not pay out more than {slot:0x3333…3333:7} owes; it paid {amount:log:41} to {address:0x2222...2222} ({frame:0.0}, {log:41})."
		x.Evidence[1].Claim = "{address:0x3333..3333} pays {amount:log:41}."
	})
	f("no source", func(ev *assemble.Evidence, x *Finding) {
		forget(ev, vault)
		x.BrokenInvariant = "{address:" + vault + "} must not pay out more than {slot:" + vault + ":7} owes; it paid {amount:log:41}."
	}, narrate.MissingSource(addr(vault)))
	f("unsure without a word", func(_ *assemble.Evidence, x *Finding) { x.Confidence = api.Low }, missingEvidence)
	f("unsure with one", func(_ *assemble.Evidence, x *Finding) {
		x.Confidence, x.Missing = api.Low, []string{"the source of {address:0x3333…3333}"}
	}, "the source of \"SavingsVault\" ("+vault+")")
	for _, source := range []trace.Source{trace.SourceReplayQuick, trace.SourceOtterscan} {
		f("no trace of its own", func(ev *assemble.Evidence, x *Finding) { ev.Tree.Source = source }, narrate.MissingTrace())
	}
}

// TestFaultyContract: whose rule broke.
func TestFaultyContract(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(said string, victims, attackers []string, want string) {
		t.Helper()
		x := goodFinding()
		x.FaultyContract = nil
		if said != "" {
			x.FaultyContract = addrp(said)
		}
		s := &acceptedFinding{}
		for _, v := range victims {
			s.Victim = append(s.Victim, addr(v))
		}
		for _, a := range attackers {
			s.Attacker = append(s.Attacker, addr(a))
		}
		s.Evidence = x.Evidence
		got := ix.faulty(&x, s)
		if (got == nil) != (want == "") || got != nil && got.String() != want {
			t.Errorf("said %q: %v, want %q", said, got, want)
		}
	}
	own := []string{attacker, wielder}
	f("", []string{vault}, own, vault)
	f(usdc, []string{vault}, own, usdc)
	f(bystand, []string{vault}, own, vault)          // no such contract here
	f(wielder, []string{vault}, own, vault)          // the attacker's
	f("", []string{bystand, vault}, own, vault)      // who has no code lost by somebody else's
	f("", []string{bystand}, own[:1], wielder)       // the first that the evidence points to
	f("", []string{bystand}, append(own, vault), "") // nobody
}
