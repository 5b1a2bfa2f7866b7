package claim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
)

// rendered says why the first sentence of a text does not stand, or gives the text.
func (ix *Index) rendered(s string, m mode) string {
	m.limit = maxText
	ix.drops = nil
	got := ix.say(s, m)
	if len(ix.drops) > 0 {
		return "! " + ix.drops[0].Why.String()
	}
	return got.text
}

// TestSentences: what may stand around references.
func TestSentences(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(s, want string) {
		t.Helper()
		if got := ix.rendered(s, mode{}); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	const paid = "{amount:log:41}"
	f("The vault paid "+paid+".", "The vault paid 5,000 USDC.")
	f("the vault paid "+paid, "the vault paid 5,000 USDC")
	f("The vault paid "+paid+"; it got {amount:log:40} (i.e. less).", "The vault paid 5,000 USDC; it got 100 USDC (i.e. less).")
	f("The vault's debt ('old'): "+paid+", and/or less - why?", "The vault's debt ('old'): 5,000 USDC, and/or less - why?")
	f("**The vault** paid `"+paid+"`.", "The vault paid 5,000 USDC.")
	f("“Paid” "+paid+" — all.", "\"Paid\" 5,000 USDC - all.")
	f("It paid "+paid+". It got {amount:log:40}.", "It paid 5,000 USDC. It got 100 USDC.")
	f("It paid. "+paid+" went out.", "! no_fact")
	// True sentences that lists of words once dropped.
	f("A liquidation bonus of "+paid+" was paid.", "A liquidation bonus of 5,000 USDC was paid.")
	f("The debt of "+paid+" is secured by collateral, according to the trace.", "The debt of 5,000 USDC is secured by collateral, according to the trace.")
	f("It overrides the fee announced on chain, "+paid+".", "It overrides the fee announced on chain, 5,000 USDC.")
	// References.
	f("It paid {amount:log:77}.", "! unresolved_reference")
	f("It paid {sum:log:41}.", "! unknown_kind")
	f("It paid {amount}.", "! malformed_reference")
	f("It paid {amount:log:41.", "! malformed_reference")
	f("It paid } "+paid+".", "! malformed_reference")
	f("It paid {Amount:log:41}.", "! malformed_reference")
	f("It paid "+paid+"k.", "! malformed_reference")
	f("It paid -"+paid+".", "! malformed_reference")
	f("It paid x"+paid+".", "! malformed_reference")
	f("It paid "+strings.Repeat("{block} ", maxReferences+1)+".", "! too_many_references")
	// Digits, names, links, characters.
	f("It paid 5,000 USDC, "+paid+".", "! digit")
	f("It paid ５, "+paid+".", "! digit")
	f("It paid ½ of "+paid+".", "! digit")
	f("It paid "+paid+" to 0x3333…3333.", "! digit")
	f("It paid the Lazarus group "+paid+".", "! name")
	f("USDC came, "+paid+".", "! name")
	f("See evil.com for "+paid+".", "! link")
	f("See t.me for "+paid+".", "! link")
	f("See evil . com for "+paid+".", "! link")
	f("See evil. com for "+paid+".", "! link")
	f("See evil.{address:sender} for "+paid+".", "! link")
	f("See {address:sender}.com for "+paid+".", "! link")
	f("See https://evil for "+paid+".", "! link")
	f("See evil:{address:sender} for "+paid+".", "! link")
	f("It got: "+paid+".", "It got: 5,000 USDC.")
	f("See //evil for "+paid+".", "! link")
	f("See javascript:alert for "+paid+".", "! link")
	f("Write to a@b for "+paid+".", "! link")
	f("It paid <b>"+paid+"</b>.", "! character")
	f("It paid $"+paid+".", "! character")
	f("The аudited vault paid "+paid+".", "! character")
	f("保管庫 "+paid+".", "! character")
	f("Partial result: it paid "+paid+".", "! reserved")
	// What a sentence rests on.
	f("The contract was audited and is safe.", "! no_fact")
	f("{address:"+vault+"} was audited and is safe.", "! no_fact")
	f("Send your tokens to {address:"+wielder+"}.", "! no_fact")
	f("The funds on {chain} are safe in {token:"+usdc+"}.", "! no_fact")
	f("{check:conservation}.", "Sum of a token's movements is what was minted less what was burnt: not checked; there is no storage to hold the logs against, or none that is understood.")
	f("It is safe: {check:drained}.", "! mixed_verdict")
	f("{check:drained}, {amount:log:41}.", "! mixed_verdict")
	f("{check:luck}.", "! unresolved_reference")
	f("{flag:bad_debt}.", "! unresolved_reference") // the rules did not raise it
	f("{figure:1}.", "! unresolved_reference")
	f(strings.Repeat("very ", maxText/5)+paid, "! too_long")
	// In findings, which code computes, sentences without references may stand.
	if got := ix.rendered("The vault calls out before it books.", mode{bare: true}); got != "The vault calls out before it books." {
		t.Errorf("%q", got)
	}
	if got := ix.rendered("It paid 5,000.", mode{bare: true}); got != "! digit" {
		t.Errorf("%q", got)
	}
	if got := ix.rendered("...", mode{bare: true}); got != "! link" {
		t.Errorf("%q", got)
	}
	if got := ix.rendered("?", mode{bare: true}); got != "! empty" {
		t.Errorf("%q", got)
	}
}

// TestSentenceByItself: one sentence costs no other.
func TestSentenceByItself(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	got := ix.say("It paid {amount:log:41}. It is safe. It got {amount:log:40}. See evil.com.", mode{where: "steps[2].text", limit: maxText})
	if got.text != "It paid 5,000 USDC. It got 100 USDC." || got.bad != 2 || !got.first || !slices.Equal(got.logs, []int{1, 0}) {
		t.Errorf("%+v", got)
	}
	if want := "[{steps[2].text 2 no_fact} {steps[2].text 4 link}]"; fmt.Sprint(ix.drops) != want {
		t.Errorf("%v, want %s", ix.drops, want)
	}
	told := Explain(append(ix.drops, ix.drops...))
	for _, want := range []string{"steps[2].text, sentence 2: no_fact (refer to", "steps[2].text, sentence 4: link (", "sentence 4: link\n"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told: %s", want, told)
		}
	}
	if strings.Contains(told, "evil") {
		t.Errorf("the words are repeated: %s", told)
	}
	if many := Explain(make([]Drop, maxExplained+5)); !strings.Contains(many, "and 5 more") {
		t.Error(many)
	}
}

// TestReview: what would be dropped is listed, steps and risks without a place too, and
// nothing is changed.
func TestReview(t *testing.T) {
	c := exploitCase(t)
	ix := NewIndex(c)
	a := &Answer{
		TxType: *c.Result.TxType, Confidence: api.High, Summary: "It is safe.",
		Steps: []TextRefs{{"It used {gas}.", nil}, {"It used {gas}.", []string{"log:77"}}, {"It used {gas}.", []string{"log:41"}}},
		Risks: []Risk{{"stuck_value", "It used {gas}.", nil}, {"flash_loan", "It moved {amount:log:41}.", nil}},
	}
	summary := c.Result.Summary
	const want = "[{summary 1 no_fact} {steps[0] 1 no_place} {steps[1] 1 no_place} {risks[0] 1 no_place} {risks[1] 1 contradicted}]"
	for range 2 {
		if got := fmt.Sprint(Review(c, a, ix)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if c.Result.Summary != summary || len(c.Result.Steps) != 4 {
		t.Error("the case was changed")
	}
}

// TestReasons: each reason has a name and advice of its own.
func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for r := Malformed; r <= Empty; r++ {
		if r.String() == "" || reasons[r].advice == "" || seen[r.String()] {
			t.Errorf("reason %d is %q", r, r)
		}
		seen[r.String()] = true
	}
	if Accepted.String() != "" || Reason(200).String() != "" {
		t.Error("a reason that is none has a name")
	}
}
