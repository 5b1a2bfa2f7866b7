package facts_test

import (
	"slices"
	"testing"

	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/protocol"
	"txlens/testkit/scene"
)

// TestNameOfUserKeepsProtocol: a name of the user for an address that only the rules know leaves
// its protocol as it is.
func TestNameOfUserKeepsProtocol(t *testing.T) {
	tested := 0
	for _, p := range protocol.All() {
		for _, c := range p.Contracts {
			if !c.Unlabelled || p.Kind != protocol.Named || !slices.Contains(c.Chains, 1) {
				continue
			}
			in := scene.New(&c.Address, 0, nil).Facts(t)
			before := facts.Read(in).LabelOf(c.Address)
			in.Labels[c.Address] = label.Label{Name: "mine", Origin: label.ByUser}
			if l := facts.Read(in).LabelOf(c.Address); l.Name != "mine" || l.Protocol != before.Protocol || l.Protocol == "" {
				t.Errorf("%s: %+v, before %+v", c.Address, l, before)
			}
			tested++
		}
	}
	if tested == 0 {
		t.Error("nothing was tested")
	}
}
