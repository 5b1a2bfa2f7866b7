package claim

import (
	"strings"
	"testing"
	"unicode"

	"txlens/engine/api"
)

func TestLex(t *testing.T) {
	f := func(s string, want ...string) {
		t.Helper()
		var got []string
		for _, l := range lex(s) {
			kinds := map[kind]string{isWord: "w", isNumber: "n", isHex: "x", isPath: "p", isDate: "d", isTime: "t", isMark: "m", isBad: "BAD", isGap: "g"}
			text := kinds[l.kind] + ":" + l.text
			if l.kind == isNumber {
				text += "=" + l.number.String()
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	f("Sent 1,250.5 USDC.", "w:Sent", "n:1,250.5=1250.5", "w:USDC", "m:.")
	f("1 000 000", "n:1 000 000=1000000")
	f("10 000", "n:10 000=10000")
	f("1.5M 3x 2nd", "n:1.5M=1.5", "n:3x=3", "n:2nd=2")
	f("1e18 2.5e6", "n:1e18=1000000000000000000", "n:2.5e6=2500000")
	f("0.2.1", "p:0.2.1")
	f("0x12ab…cd 0xff", "x:0x12ab…cd", "x:0xff")
	f("0x12zz", "BAD:0x12zz")
	f("2024-03-01 12:30", "d:2024-03-01", "t:12:30")
	f("1'000", "BAD:1", "m:'", "n:000=0")
	f("1.000.000,5", "p:1.000.000", "m:,", "n:5=5") // no frame has this path
	f("1.000,50", "BAD:1.000", "m:,", "n:50=50")
	f("1,00,000", "BAD:1", "m:,", "n:00,000=0")
	f("1_000", "BAD:1_000")
	f("½ ١٢ １０ ②", "BAD:½", "BAD:١", "BAD:٢", "BAD:１", "BAD:０", "BAD:②")
	f("254845…0783", "g:254845…0783")
	f("token0 WETH9", "w:token0", "w:WETH9")
}

// FuzzLex: no digit is lost, whatever the text, and reading it ends.
func FuzzLex(f *testing.F) {
	for _, s := range []string{"Sent 1,250.5 USDC (0x12…ab) at 12:30", "1.2.3.4", "1e99999", "٣ ½", strings.Repeat("1 000", 40), "0x", "0x…", "1,,2", "٠x1"} {
		f.Add(s)
	}
	ix := plainIndex()
	f.Fuzz(func(t *testing.T, s string) {
		s = api.Clean(s, 4*maxText)
		list := lex(s)
		if len(list) == maxLexemes {
			return
		}
		joined := ""
		for _, l := range list {
			if l.text == "" {
				t.Fatal("a piece is empty")
			}
			if l.kind == isMark && strings.ContainsFunc(l.text, unicode.IsNumber) {
				t.Fatalf("a digit passes for a mark: %q", l.text)
			}
			joined += l.text
		}
		strip := func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return r
			}, s)
		}
		if strip(joined) != strip(s) {
			t.Fatalf("%q became %q", s, joined)
		}
		ix.prose(s, maxText)
	})
}
