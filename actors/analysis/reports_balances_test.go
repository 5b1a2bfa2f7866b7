package analysis_test

import (
	"strings"
	"testing"
)

// TestReportedAccounts: what accounts of transactions of bug reports gained or lost, in base
// units by the token's first letters; "" for nothing.
func TestReportedAccounts(t *testing.T) {
	_, all := reportedIn(t, "cases")
	f := func(name, account, want string) {
		t.Helper()
		var have []string
		for _, c := range all[name].explain(t).BalanceChanges {
			if c.Address.String() != account {
				continue
			}
			for i := range c.Tokens {
				have = append(have, c.Tokens[i].RawSignedAmount+" "+c.Tokens[i].TokenSymbol)
			}
		}
		if got := strings.Join(have, ", "); got != want {
			t.Errorf("%s: %s has %q, want %q", name, account, got, want)
		}
	}
	f("delegate_child_wrong_from", "0x8e0a6eedfa54291ea2f8c08a215da8a9436b5193", "-2000000000000000000 ETH")
	f("delegate_child_wrong_from", "0x4d585e5f4b01f042ac3b54d066d5e6bcae0d548b", "")
	f("selfdestruct_stale", "0x2f3b43a0e6484419833f01b4512615430f4edbb1", "-1000600000000000000 ETH")
	f("selfdestruct_stale", "0x695824c9d48944920cc2b5426f36ffa9527d2604", "1000000000000000000 ETH")
}
