package claim

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
)

func TestCheckLanguage(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(text, want string) {
		t.Helper()
		text = strings.NewReplacer("VAULT", vault, "TOOL", wielder, "USDC", usdc, "OTHER", bystand).Replace(text)
		got := "true"
		c, err := parseCheck(text)
		if err == nil {
			var ok bool
			if ok, err = c.holds(ix.look); !ok {
				got = "false"
			}
		}
		switch {
		case errors.Is(err, errUnreadableCheck):
			got = "unreadable"
		case err != nil:
			got = "unknown"
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
	}
	f("1 + 2 * 3 == 7", "true")
	f("(1 + 2) * 3 == 9", "true")
	f("10 - 2 - 3 == 5", "true")
	f("-7 / 2 == -3", "true") // towards zero
	f("2 * -3 == -6", "true")
	f("1e18 == 1_000_000_000_000_000_000 and 0xff == 255", "true")
	f("1 < 2 and 2 < 1", "false")
	f("1 != 1", "false")
	f("bits(0xabcd, 8, 8) == 0xab", "true")
	f("net(VAULT, USDC) == -4900000000", "true")
	f("sent(VAULT, USDC) == 5000000000 and received(VAULT, USDC) == 100000000", "true")
	f("received(VAULT, USDC) * 50 >= sent(VAULT, USDC)", "true")
	f("received(VAULT, USDC) * 49 >= sent(VAULT, USDC)", "false")
	f("transfer(41) > transfer(40)", "true")
	f("arg(41, 2) == 5000000000", "true")
	f("before(VAULT, 7) == 9000000000 and after(VAULT, 0x7) < before(VAULT, 7)", "true")
	f("minted(USDC) == 0 and burnt(USDC) == 0", "true")
	f("net(VAULT, native) == 0", "true")
	f("value(0) == 0", "true")
	f("before(VAULT, 8) == 0", "unknown") // not in the diff: it is not known
	f("net(OTHER, USDC) == 0", "unknown") // no such account
	f("transfer(42) == 0", "unknown")
	f("value(0.9) == 0", "unknown")
	f("1 / 0 == 0", "unknown")
	f("2 == 2 / (1 - 1)", "unknown")
	f(strings.Repeat("1e70 * ", 6)+"1 > 0", "unknown") // beyond the bound
	f("", "unreadable")
	f("1", "unreadable")
	f("1 = 1", "unreadable")
	f("1 < 2 < 3", "unreadable")
	f("1 == 1 or 1 == 2", "unreadable")
	f("true == true", "unreadable")
	f("exec(1) == 1", "unreadable")
	f("net(VAULT) == 1", "unreadable")
	f("transfer(40 + 1) == 1", "unreadable")
	f("1 == 1; 2 == 2", "unreadable")
	f("0xzz == 1", "unreadable")
	f("bits(1, 300, 8) == 1", "unreadable")
	f(strings.Repeat("(", 60)+"1"+strings.Repeat(")", 60)+" == 1", "unreadable")
	f(strings.Repeat("1 + ", 150)+"1 == 1", "unreadable")
	f("1e99 == 1", "unreadable")
}

// TestStrength: what a check shows, and which prove nothing.
func TestStrength(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(text string, want strength, wantErr bool) {
		t.Helper()
		text = strings.NewReplacer("VAULT", vault, "TOOL", wielder, "USDC", usdc).Replace(text)
		got, err := ix.verify(text, []api.Addr{addr(vault)})
		if got != want || (err != nil) != wantErr {
			t.Errorf("%s: %d (%v), want %d", text, got, err, want)
		}
	}
	f("after(VAULT, 7) < before(VAULT, 7) - received(VAULT, USDC)", showsBreak, false)
	f("net(VAULT, USDC) < 0", showsMovement, false)
	f("sent(VAULT, USDC) > received(VAULT, USDC)", showsMovement, false)
	f("transfer(41) > transfer(40)", showsMovement, false)
	f("net(TOOL, USDC) > 0", showsNothing, true)       // not about the victim
	f("sent(VAULT, USDC) >= 0", showsNothing, true)    // cannot fail
	f("net(VAULT, USDC) * 0 == 0", showsNothing, true) // cannot fail
	f("net(VAULT, USDC) == net(VAULT, USDC)", showsNothing, true)
	f("net(VAULT, USDC) - net(VAULT, USDC) < 1", showsNothing, true)
	f("before(VAULT, 7) + 1 > before(VAULT, 7)", showsNothing, true)
	f("1 == 1", showsNothing, true)
	f("net(VAULT, USDC) < 123456789", showsNothing, true) // a number out of nowhere
	f("net(VAULT, USDC) > 0", showsNothing, true)         // false
	f("net(VAULT, USDC) < 0 and 1 == 2", showsNothing, true)
}

// FuzzCheck: any text is refused or computed, within the bounds.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"net(" + vault + ", " + usdc + ") < 0", "bits(before(" + vault + ", 7), 0, 112) * 2 == 1e18", "((1))==1", "-(-1)/0>=0xff and 1!=1", "arg(41,value)>0", "output(0.0.1,0)==1"} {
		f.Add(s)
	}
	ix := NewIndex(exploitCase(f))
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCheck(s)
		if err != nil {
			return
		}
		c.walk(func(e *expr) {
			if v, err := e.eval(ix.look); err == nil && v.BitLen() > maxBits+1 {
				t.Fatalf("%d bits", v.BitLen())
			}
		})
		_, _ = ix.verify(s, []api.Addr{addr(vault)})
	})
}

// TestTrials: the trials of a condition differ, and know what cannot be below zero.
func TestTrials(t *testing.T) {
	seen := map[string]bool{}
	for trial := range trials {
		key := ""
		for n := range 3 {
			v := trialValue(trial, n, false)
			if v.Sign() < 0 {
				t.Errorf("trial %d gives %s", trial, v)
			}
			key += v.Text(62) + " "
		}
		seen[key] = true
	}
	if len(seen) < trials-3 || trialValue(2, 1, true).Cmp(new(big.Int)) >= 0 {
		t.Errorf("%d different trials", len(seen))
	}
}
