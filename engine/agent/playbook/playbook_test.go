package playbook

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"txlens/engine/agent/tool"
	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/classify"
	"txlens/engine/verdict"
	"txlens/testkit/recorded"

	"github.com/go-json-experiment/json/jsontext"
)

func toolNames() (names []string) {
	for _, t := range tool.All() {
		names = append(names, t.Name)
	}
	return names
}

func library(t testing.TB, dir string) *Library {
	t.Helper()
	l, err := Open(dir, toolNames())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestEmbedded: every embedded playbook says something, with tools that exist: those
// of its front matter are the ones that its text tells to use.
func TestEmbedded(t *testing.T) {
	l := library(t, "")
	want := "access-control account-abstraction accounting approvals bridge chosen-calls exploit-triage failed-transaction governance l2-system-transaction liquidation mev price-manipulation reentrancy token-oddities unearned-gain"
	if got := strings.Join(l.Names(), " "); got != want {
		t.Errorf("got %s", got)
	}
	for _, r := range rules {
		if _, ok := l.Get(r.name); !ok {
			t.Errorf("a rule proposes %s, which is not there", r.name)
		}
	}
	for _, name := range l.Names() {
		p, _ := l.Get(name)
		lines := strings.Count(p.Body, "\n") + 1
		if lines < 30 || lines > 80 || p.Own {
			t.Errorf("%s has %d lines", name, lines)
		}
		for _, said := range []string{"## Order", "## Traps"} {
			if !strings.Contains(p.Body, said) {
				t.Errorf("%s has no %s", name, said)
			}
		}
		for _, m := range regexp.MustCompile("`([a-z]+_[a-z_]+|simulate)`").FindAllStringSubmatch(p.Body, -1) {
			if slices.Contains(toolNames(), m[1]) && !slices.Contains(p.Tools, m[1]) {
				t.Errorf("%s tells to use %s and does not list it", name, m[1])
			}
			if strings.HasPrefix(m[1], "get_") && !slices.Contains(toolNames(), m[1]) {
				t.Errorf("%s names %s, which is no tool", name, m[1])
			}
		}
		for _, used := range p.Tools {
			if !strings.Contains(p.Body, "`"+used+"`") {
				t.Errorf("%s lists %s and never uses it", name, used)
			}
		}
	}
}

const sound = "---\nname: own\nwhen: always\ntools: get_frame\n---\nLook.\n"

// TestParseErrors: what is wrong is named with file and line.
func TestParseErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Parse("dir/x.md", []byte(text), []string{"get_frame"})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	f(sound, "")
	f(strings.ReplaceAll(sound, "\n", "\r\n"), "")
	f("", "dir/x.md:1: want a line of three dashes, then name, when and tools")
	f("name: own\n", "dir/x.md:1: want a line of three dashes, then name, when and tools")
	f("---\nname: own\n", "dir/x.md:3: the front matter does not end: want a line of three dashes")
	f("---\nname: own\n---\nx", "dir/x.md:3: when is missing")
	f("---\nname: own\nname: own\n---\n", "dir/x.md:3: name stands here twice")
	f("---\nname: Own\n", "dir/x.md:2: a name is a lower-case letter, then at most 39 of a-z, 0-9 and -")
	f("---\nname:\n", "dir/x.md:2: name is empty")
	f("---\nhello\n", "dir/x.md:2: want name: value")
	f("---\nauthor: me\n", `dir/x.md:2: want name, when, causes or tools, not "author"`)
	f("---\ncauses: reentrancy, theft\n", `dir/x.md:2: "theft" is no category of findings`)
	f("---\ncauses: reentrancy,reentrancy\n", "dir/x.md:2: reentrancy is named twice")
	f("---\nname: a\nwhen: "+strings.Repeat("x", 301)+"\n", "dir/x.md:3: when is longer than 300 bytes")
	f("---\ntools: get_frame, get_money\n", "dir/x.md:2: there is no tool get_money")
	f("---\ntools: get_frame,get_frame\n", "dir/x.md:2: get_frame is named twice")
	f("---\ntools: get frame\n", `dir/x.md:2: "get frame" is no name of a tool`)
	f("---\nname: own\nwhen: x\ntools: get_frame\n---\n \n", "dir/x.md:5: nothing follows the front matter")
	f("---\xff", "dir/x.md:1: it is no UTF-8")
	f(sound+strings.Repeat("x", maxFile), "dir/x.md:1: it is larger than 32 KiB")
}

// TestOwnFolder: an operator adds and replaces by name, and mistakes stop him.
func TestOwnFolder(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("own.md", sound)
	put("mev.md", strings.Replace(sound, "name: own", "name: mev", 1))
	put("notes.txt", "no playbook")
	l := library(t, dir)
	if len(l.Names()) != 17 {
		t.Errorf("%v", l.Names())
	}
	if p, ok := l.Get("mev"); !ok || p.Body != "Look." || !p.Own {
		t.Errorf("not replaced: %+v", p)
	}
	put("other.md", sound)
	if _, err := Open(dir, toolNames()); err == nil || err.Error() != dir+"/own.md: the name own is that of "+dir+"/other.md, too" {
		t.Errorf("two of one name: %v", err)
	}
	put("other.md", "---\nname: 7\n")
	if _, err := Open(dir, toolNames()); err == nil || !strings.HasPrefix(err.Error(), dir+"/other.md:2: ") {
		t.Errorf("a mistake: %v", err)
	}
	put("other.md", strings.Repeat("x", maxFile+1))
	if _, err := Open(dir, toolNames()); err == nil || !strings.Contains(err.Error(), "larger than 32 KiB") {
		t.Errorf("a large file: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "absent"), toolNames()); err == nil {
		t.Error("an absent folder was opened")
	}
}

// TestEngaged: the tool's input is strict, and its description the same each time.
func TestEngaged(t *testing.T) {
	l := library(t, "")
	if a, b := l.Tool(), library(t, "").Tool(); string(a.Schema) != string(b.Schema) || a.Description != b.Description || !a.Schema.IsValid() {
		t.Error("not the same bytes")
	}
	f := func(input, want string) {
		t.Helper()
		p, err := l.Engaged(jsontext.Value(input))
		got := p.Name
		if err != nil {
			got = err.Error()[:20]
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", input, got, want)
		}
	}
	f(`{"name":"mev"}`, "mev")
	f(`{"name":"../mev"}`, "there is no such pla")
	f(`{"name":"mev","x":1}`, "engage_playbook want")
	f(`{}`, "there is no such pla")
	f(``, "engage_playbook want")
	f(`"mev"`, "engage_playbook want")
}

// TestPropose: what the rules see decides, and the asker's words.
func TestPropose(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own.md"), []byte(sound), 0o600); err != nil {
		t.Fatal(err)
	}
	l := library(t, dir)
	c := assemble.Build(recorded.Find(t, "0x"))
	f := func(set func(*api.Result, *classify.Verdict), context, want string) {
		t.Helper()
		r, v := *c.Result, classify.Verdict{}
		r.TxType, r.Status, r.Provenance = nil, api.StatusSuccess, &api.Provenance{}
		protocol := "some"
		r.Protocol = &protocol
		set(&r, &v)
		with := *c
		with.Result, with.Verdict = &r, &v
		for range 2 {
			if got := strings.Join(l.Propose(&with, context), " "); got != want {
				t.Errorf("%q: got %q, want %q", context, got, want)
			}
		}
	}
	nothing := func(*api.Result, *classify.Verdict) {}
	of := func(t api.TxType) func(*api.Result, *classify.Verdict) {
		return func(r *api.Result, _ *classify.Verdict) { r.TxType = &t }
	}
	risks := func(flags ...verdict.Flag) func(*api.Result, *classify.Verdict) {
		return func(_ *api.Result, v *classify.Verdict) {
			for _, f := range flags {
				v.Risks = append(v.Risks, verdict.Risk{Flag: f})
			}
		}
	}
	f(nothing, "", "")
	f(func(r *api.Result, _ *classify.Verdict) { r.Status = api.StatusReverted }, "", "failed-transaction")
	f(risks(verdict.FlashLoan), "", "exploit-triage price-manipulation")
	f(risks(verdict.OwnerChanged), "", "access-control")
	f(risks(verdict.CoinbasePayment, verdict.CaughtInnerFailure), "", "failed-transaction mev")
	f(risks(verdict.AddressPoisoning), "", "token-oddities")
	f(risks(verdict.FakeAirdrop), "", "token-oddities")
	f(risks(verdict.BulkApprovals), "", "approvals")
	f(risks(verdict.ApprovalToReported), "", "approvals")
	f(risks(verdict.UnlimitedApproval), "", "")
	f(of(api.TypeOther), "is this permit phishing?", "approvals")
	f(of(api.TypeMEV), "", "mev")
	f(of(api.TypeLiquidation), "", "liquidation")
	f(of(api.TypeBridge), "", "bridge")
	f(of(api.TypeGovernance), "", "governance")
	f(of(api.TypeRoutineInfra), "", "l2-system-transaction")
	f(of(api.TypeSwap), "was this a sandwich?", "mev")
	f(of(api.TypeOther), "what is the root cause of this reentrancy hack", "exploit-triage reentrancy")
	f(of(api.TypeSwap), "use own please", "own")
	f(risks(verdict.FlashLoan, verdict.OwnerChanged, verdict.BadDebt, verdict.CoinbasePayment), "", "exploit-triage price-manipulation access-control liquidation")
	if got := l.Propose(&assemble.Analysis{Evidence: &assemble.Evidence{}}, "exploit"); got != nil {
		t.Errorf("without a transaction: %v", got)
	}
}

// TestCauses: each category of findings has a playbook, which a finding of it proposes first.
func TestCauses(t *testing.T) {
	l := library(t, "")
	c := assemble.Build(recorded.Find(t, "0x"))
	for _, v := range api.Category("").Enum() {
		category := v.(api.Category)
		with := *c
		with.Triage = &check.Report{Findings: []verdict.Finding{{Facts: api.Finding{Category: category}}}}
		got := l.Propose(&with, "")
		if len(got) == 0 {
			t.Errorf("no playbook for %s", category)
			continue
		}
		if p, _ := l.Get(got[0]); !slices.Contains(p.Causes, category) {
			t.Errorf("%s: %v", category, got)
		}
	}
}

// TestProposeIsQuiet: ordinary transactions are not called attacks.
func TestProposeIsQuiet(t *testing.T) {
	l := library(t, "")
	all, triage := 0, 0
	for ev := range recorded.Sample(t) {
		got := l.Propose(assemble.Build(ev), "")
		if len(got) > maxProposed {
			t.Errorf("%s: %v", ev.TxHash, got)
		}
		all++
		if slices.Contains(got, "exploit-triage") {
			triage++
			t.Logf("%s: %v", ev.TxHash, got)
		}
	}
	t.Logf("%d transactions, triage proposed for %d", all, triage)
	if triage*20 > all {
		t.Errorf("triage is proposed for %d of %d", triage, all)
	}
}

// FuzzParse: any file is a playbook within the bounds or an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte("---\nname: a\nwhen: b\ntools: c,d\n---\n---\n"))
	f.Add([]byte("---\n---"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("x.md", text, nil)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.md:") {
				t.Errorf("no line: %v", err)
			}
			return
		}
		if !nameForm.MatchString(p.Name) || p.When == "" || len(p.When) > maxWhen || len(p.Tools) == 0 || len(p.Tools) > maxTools || p.Body == "" {
			t.Errorf("%+v", p)
		}
	})
}
