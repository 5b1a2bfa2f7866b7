package claim

import (
	"strings"
	"testing"
	"unicode"
)

// TestSplit: what stands between braces is a reference of the grammar, or makes its
// place malformed.
func TestSplit(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		var b strings.Builder
		for _, p := range split(s) {
			switch {
			case p.ref != nil:
				b.WriteString("<" + strings.Join(append([]string{p.ref.kind}, p.ref.args...), "|") + ">")
			case p.plain == "":
				b.WriteString("?")
			default:
				b.WriteString(p.plain)
			}
		}
		if b.String() != want {
			t.Errorf("%q: %q, want %q", s, b.String(), want)
		}
	}
	f("", "")
	f("It sent {amount:log:41}.", "It sent <amount|log|41>.")
	f("{block}", "<block>")
	f("{ address : 0x1234…abcd }", "<address|0x1234…abcd>")
	f("{figure:2.percent}{call:0.2.1}", "<figure|2.percent><call|0.2.1>")
	f("{", "?")
	f("}", "?")
	f("{}", "??")
	f("{amount:}", "?amount:?")
	f("{Amount:log:41}", "?Amount:log:41?")
	f("{amount log}", "?amount log?")
	f("{a{block}b}", "?a<block>b?")
	f("{amount:log:41", "?amount:log:41")
	f("{amount:１}", "?amount:１?")
	f("{amount:<b>}", "?amount:<b>?")
	f("{a"+strings.Repeat(":x", maxArguments)+"}", "<a"+strings.Repeat("|x", maxArguments)+">")
	f("{a"+strings.Repeat(":x", maxArguments+1)+"}", "?a"+strings.Repeat(":x", maxArguments+1)+"?")
	long := strings.Repeat("x", maxReference-2)
	f("{a:"+long+"}", "<a|"+long+">")
	f("{a:"+long+"x}", "?a:"+long+"x?")
}

// FuzzSplit: the pieces of any text are the text, but for the braces and blanks of
// references, and each reference is within its bounds.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "{", "{}", "It sent {amount:log:41}.", "{figure:2.percent}{call:0.2.1}", "{a{block}b}", "{address:0x1234…abcd}. {", "\xff{x:\xff}"} {
		f.Add(s)
	}
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '{' || r == '}' || r == ':' || unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?") // as api.Clean leaves it
		var all strings.Builder
		for _, p := range split(s) {
			if all.WriteString(p.plain); p.ref == nil {
				if strings.ContainsAny(p.plain, "{}") {
					t.Fatalf("a brace in a plain piece: %q", p.plain)
				}
				continue
			}
			size := len(p.ref.kind) + len(p.ref.args)
			for _, a := range p.ref.args {
				size += len(a)
			}
			if size > maxReference || len(p.ref.args) > maxArguments || p.ref.kind == "" {
				t.Fatalf("out of bounds: %+v", p.ref)
			}
			all.WriteString(p.ref.kind + strings.Join(p.ref.args, ""))
		}
		if got, want := letters(all.String()), letters(s); got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}

// FuzzSay: any text is rendered within its limit, without a digit or a character outside
// of references.
func FuzzSay(f *testing.F) {
	for _, s := range []string{"{address:sender} sent {amount:log:41}.", "Wow {figure:1} (i.e. {block}). {check:drained}.", "{slot:" + vault + ":7}", "{tool:1:a.b}", "a.b {x} ."} {
		f.Add(s)
	}
	ix := NewIndex(exploitCase(f))
	ix.compute([]Figure{{Sum, []string{"log:40", "log:41"}}})
	f.Fuzz(func(t *testing.T, s string) {
		got := ix.say(s, mode{limit: maxText, bare: true})
		if len([]rune(got.text)) > maxText || strings.ContainsAny(got.text, "{}<>`*[]\\") {
			t.Fatalf("%q became %q", s, got.text)
		}
		if !strings.Contains(s, "{") && strings.ContainsFunc(got.text, unicode.IsNumber) {
			t.Fatalf("%q became %q", s, got.text)
		}
	})
}
