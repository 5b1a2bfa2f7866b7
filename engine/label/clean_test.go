package label

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	f("", "")
	f("USDC", "USDC")
	f("USD Coin (PoS)", "USD Coin (PoS)")
	f("  USD \t Coin\n", "USD Coin")
	f("line\u2028break\r\nagain", "line break again")
	f("nul\x00bell\x07esc\x1b[31m", "nulbellesc[31m")
	f("U\u200bS\u200dD\ufeffC\u00ad", "USDC")
	f("\u202eCDSU\u202c\u2066x\u2069", "CDSUx")
	f("bad\xff\xfeutf8\xc3", "badutf8")
	f("kept \ufffd mark", "kept \ufffd mark")
	f("\u2800blank\u3164filler\uffa0", "blankfiller")
	f("tag\U000e0041\U000e007f", "tag")
	f("emoji\U0001f600\ufe0f", "emoji\U0001f600")
	f("Zal\u0300\u0301\u0302\u0303\u0304go", "Zal\u0300\u0301go")
	f("\u0301\u0301start", "start")
	f("ÜSDC 鸡鸡币", "ÜSDC 鸡鸡币")
	f("\ue000private\U0010ffff", "private")
	f(strings.Repeat("x", 300), strings.Repeat("x", 200))
	f(strings.Repeat("鸡", 300), strings.Repeat("鸡", 200))
	f(strings.Repeat("x ", 300), strings.TrimSpace(strings.Repeat("x ", 100)))
	f(strings.Repeat("\u200b", 5000)+"end", "end")
}

func FuzzClean(f *testing.F) {
	f.Add("USDC")
	f.Add("U\u200bS\u202eD\xffC \n\t x")
	f.Add(strings.Repeat("a\u0301", 300))
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if !utf8.ValidString(c) || utf8.RuneCountInString(c) > maxRunes {
			t.Fatalf("Clean(%q) = %q", s, c)
		}
		for _, r := range c {
			if r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("Clean(%q) keeps %U", s, r)
			}
		}
		if again := Clean(c); again != c {
			t.Fatalf("Clean is not stable: %q, then %q", c, again)
		}
	})
}
