package report

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"txlens/engine/api"
)

var sgr = regexp.MustCompile("\x1b\\[[0-9;]+m")

func plain(t *testing.T, r *api.Result, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checkText says which line does not belong on a terminal of so many columns.
func checkText(s string, width int) string {
	for _, l := range strings.Split(s, "\n") {
		if columns(l) > width && !strings.HasPrefix(l, "  Explorer ") {
			return "too long: " + l
		}
		for _, r := range l {
			if !unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Cc) {
				return "not printable: " + strings.ToValidUTF8(l, "?")
			}
		}
	}
	return ""
}

func TestTextFitsItsTerminal(t *testing.T) {
	for name, r := range samples() {
		for _, width := range []int{60, 80, 100, 140} {
			got := plain(t, r, TextOptions{Width: width})
			if wrong := checkText(got, width); wrong != "" {
				t.Errorf("%s at %d columns: %s", name, width, wrong)
			}
			if colored := plain(t, r, TextOptions{Width: width, Color: true}); sgr.ReplaceAllString(colored, "") != got || colored == got {
				t.Errorf("%s: colours change more than the colour, or nothing", name)
			}
		}
	}
}

// TestTextFindings: a terminal tells as much of a finding as the page does, first of all.
func TestTextFindings(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, accused(), TextOptions{Width: 140}); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"! critical · accounting error · probable · medium confidence", "it paid 4,512.33 USDC for 0 WETH", "Victim      0xa3", "Attacker    0x",
		"· the pool paid first (observed, frame 0.1.0, log 41,", "Check       sent(pool) > received(pool)", "Aggravating flash loan", "To confirm  the source of the pool",
		"What was checked", "  · bad debt: not applicable"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Index(got, "Findings") > strings.Index(got, "Transaction") {
		t.Error("the findings come late")
	}
}

func TestTextSaysWhatItLeavesOut(t *testing.T) {
	r := deep(500)
	for range 50 {
		r.TokenTransfers = append(r.TokenTransfers, r.TokenTransfers[1])
		r.BalanceChanges = append(r.BalanceChanges, r.BalanceChanges[1])
	}
	got := plain(t, r, TextOptions{})
	for _, want := range []string{"… and 460 more frames", "… and 33 more transfers", "… and 33 more addresses", "Token transfers (53)", "1 loop collapsed", "out of gas"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestRolesRepeatsAndRawUnits(t *testing.T) {
	r := swap()
	r.Addresses = []api.Address{{Address: alice, Label: "sender", Role: "sender"}, {Address: pool, Label: "pool", Role: "pool"}}
	r.BalanceChanges[0].Label, r.BalanceChanges[1].Label = "sender", "pool"
	r.BalanceChanges[1].Tokens[0] = api.TokenChange{TokenAddress: weth, Balance: "7000", RawSignedAmount: "7000"}
	r.Steps = []string{"One.", "Again.", "Again.", "Again.", "Two.", "Again."}
	got := plain(t, r, TextOptions{})
	for _, want := range []string{"0xa100…0001 (sender)  ", "0xa300…0003 (pool) › swap", "+7,000 0xa400…0004 raw", "  2. Again. (3 times)\n  3. Two.\n  4. Again.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "sender (sender)") {
		t.Error("a role is said twice")
	}
	if got := Mermaid(r); !strings.Contains(got, "participant P0 as sender 0xa100…0001\n") {
		t.Error(got)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("pipe is broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWritersReportBrokenPipes(t *testing.T) {
	if err := Text(brokenWriter{}, swap(), TextOptions{}); !errors.Is(err, errBroken) {
		t.Errorf("Text: %v", err)
	}
	if err := HTML(brokenWriter{}, swap()); !errors.Is(err, errBroken) {
		t.Errorf("HTML: %v", err)
	}
}

func TestNumbers(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		d, ok := decimal(in)
		if !ok {
			t.Fatalf("%q is no number", in)
		}
		if got := amount(d); got != want {
			t.Errorf("amount(%s) = %s, want %s", in, got, want)
		}
	}
	f("0", "0")
	f("1.5", "1.5")
	f("-1234567.123456789", "-1,234,567.123457")
	f("0.000000123456789", "0.000000123457")
	f("12345678901.239", "12,345,678,901.24")
	f("-115792089237316195423570985008687907853269984665640564039457584007913129639935", "-1.1579e77")

	dollars := func(in, want string) {
		t.Helper()
		d, _ := decimal(in)
		if got := usd(&d); got != want {
			t.Errorf("usd(%s) = %s, want %s", in, got, want)
		}
	}
	dollars("1234.5", "$1,234.50")
	dollars("-0.004", "-<$0.01")
	dollars("0.001", "<$0.01")
	dollars("0", "$0.00")
	dollars("-12", "-$12.00")

	for _, bad := range []string{"", "0x", "x", "0x-1", "1e5", strings.Repeat("9", 200)} {
		if n := integer(bad); n != nil {
			t.Errorf("integer(%q) = %v", bad, n)
		}
	}
	for _, bad := range []string{"", ".", "1.-5", "1e5", "--1"} {
		if d, ok := decimal(bad); ok {
			t.Errorf("decimal(%q) = %v", bad, d)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, "-12.5", uint8(80))
	}
	f.Fuzz(func(t *testing.T, s, number string, width uint8) {
		r := swap()
		r.Summary, r.Steps, r.Addresses[1].Label, r.Provenance.Notes = s, []string{s}, s, []string{s}
		b := &r.BalanceChanges[0]
		b.Label, b.Role, b.Tokens[0].Balance, b.Tokens[0].TokenSymbol = s, s, number, s
		r.TokenTransfers[0].Total, r.TokenTransfers[0].Decimals, r.TokenTransfers[1].TokenID = number, number, s
		r.PrettyTrace[0].FunctionName, r.PrettyTrace[0].ValueWei, r.PrettyTrace[0].Status, r.PrettyTrace[0].Error = s, number, api.NodeFailed, s
		got := plain(t, r, TextOptions{Width: int(width)})
		if wrong := checkText(got, max(int(width), 60)); width > 0 && width < 140 && wrong != "" {
			t.Error(wrong)
		}
	})
}

// TestTextSequence: the part of a sequence and a published incident are told, and their
// texts are cleaned.
func TestTextSequence(t *testing.T) {
	r := &api.Result{
		Sequence:      &api.Sequence{Part: api.PartAttack, Text: "the attack\x1b[2J itself"},
		KnownIncident: &api.KnownIncident{Name: "Vault", Date: "2023-01-02", Loss: "$1\nM", Source: "somebody"},
	}
	var out strings.Builder
	if err := Text(&out, r, TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Sequence   the attack", "itself", "Known as   Vault, 2023-01-02, $1 M (published by somebody)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a control character is shown")
	}
}
