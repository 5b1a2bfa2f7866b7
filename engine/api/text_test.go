package api

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const maxRunes = 200

func TestClean(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Clean(in, maxRunes); got != want {
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

func TestOneLine(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := OneLine(in, 10); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
	f("plain", "plain")
	f("  a \t\n b\u2028c ", "a b c")
	f("\x1b[0m\x07\x9b", "[0m")
	f("0123456789", "0123456789")
	f("0123456789\u200b", "0123456789")
	f("0123456789x", "012345678…")
	f("012345678 9", "012345678…")
	f("01234567 89", "01234567…")
}

func TestNumbersInText(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(Thousands("0"), "0")
	f(Thousands("999"), "999")
	f(Thousands("-999"), "-999")
	f(Thousands("1000"), "1,000")
	f(Thousands("-1234567.8901"), "-1,234,567.8901")
	f(Count(0, "call"), "0 calls")
	f(Count(1, "address"), "1 address")
	f(Count(1234, "address"), "1,234 addresses")
	f(Addr{0x12, 0x34, 18: 0xab, 19: 0xcd}.Short(), "0x1234…abcd")
}

func FuzzClean(f *testing.F) {
	f.Add("USDC")
	f.Add("U\u200bS\u202eD\xffC \n\t x")
	f.Add(strings.Repeat("a\u0301", 300))
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s, maxRunes)
		if !utf8.ValidString(c) || utf8.RuneCountInString(c) > maxRunes {
			t.Fatalf("Clean(%q) = %q", s, c)
		}
		for _, r := range c {
			if r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("Clean(%q) keeps %U", s, r)
			}
		}
		if again := Clean(c, maxRunes); again != c {
			t.Fatalf("Clean is not stable: %q, then %q", c, again)
		}
	})
}

func TestPiece(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Piece(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f(" a piece,\n and ", " a piece,\n and ")
	f("tab\tand\x1b[31mred\u202e\xff", "tab and[31mred")
	f("", "")
}
