package report

import (
	"testing"

	"txlens/engine/api"
)

// TestContractNamesAreQuoted: who deployed a contract chose its name, so it stands in quotes,
// unlike a label of ours.
func TestContractNamesAreQuoted(t *testing.T) {
	f := func(name, label, want string) {
		t.Helper()
		r := &api.Result{Contracts: []api.Contract{{Address: addr(9), Name: name}}}
		if label != "" {
			r.Addresses = []api.Address{{Address: addr(9), Label: label}}
		}
		if got := newNames(r).labels[addr(9)]; got != want {
			t.Errorf("%q, %q: %q, want %q", name, label, got, want)
		}
	}
	f("Vault", "", `"Vault"`)
	f("Vault\" of Uniswap", "", `"Vault of Uniswap"`)
	f("", "", "")
	f("Vault", "Uniswap v3", "Uniswap v3")
}

// TestRolesAreNotQuoted: a contract without a name is called by its role, which is ours.
func TestRolesAreNotQuoted(t *testing.T) {
	victim := api.Addr{19: 7}
	n := namesOf(&api.Result{
		Addresses: []api.Address{{Address: victim, Role: "victim, vulnerable contract"}},
		Contracts: []api.Contract{{Address: victim, Name: "victim, vulnerable contract"}},
	}, nil)
	if got := n.party(victim); got.Label != "" || got.Both() != got.Short+" (victim, vulnerable contract)" {
		t.Errorf("%q, label %q", got.Both(), got.Label)
	}
}
