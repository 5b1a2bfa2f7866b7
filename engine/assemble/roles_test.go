package assemble_test

import (
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/testkit/recorded"
)

// TestAddressesHaveRoles: each address has a role, no label repeats the role, and the role
// of who received a part of the fee is the same wherever it stands.
func TestAddressesHaveRoles(t *testing.T) {
	for ev := range recorded.Sample(t) {
		r := assemble.Result(ev)
		roles := map[api.Addr]string{}
		for _, a := range r.Addresses {
			roles[a.Address] = a.Role
			if a.Role == "" || a.Label == a.Role {
				t.Errorf("%s: %s: label %q, role %q", r.TxHash, a.Address, a.Label, a.Role)
			}
		}
		for _, c := range r.BalanceChanges {
			if at := roles[c.Address]; c.Role == "" || c.Label == c.Role || at != "" && at != c.Role {
				t.Errorf("%s: %s: role %q among the balances, %q among the addresses, label %q", r.TxHash, c.Address, c.Role, at, c.Label)
			}
		}
	}
}
