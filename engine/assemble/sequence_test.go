package assemble

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/engine/narrate"
	"txlens/testkit/fixture"

	"github.com/ethereum/go-ethereum/common"
)

// TestSequenceOfAttacks: an incident with a finding is the attack itself, and no other
// transaction is.
func TestSequenceOfAttacks(t *testing.T) {
	attacks := 0
	for _, x := range fixture.Exploits(t) {
		r := Build(exploitEvidence(t, &x)).Result
		attack := r.Sequence != nil && r.Sequence.Part == api.PartAttack
		if attack != (len(r.Findings) > 0) {
			t.Errorf("%s: %+v with %d findings", x.Hash, r.Sequence, len(r.Findings))
		}
		if attack {
			attacks++
		}
	}
	if attacks == 0 {
		t.Error("no incident was an attack")
	}
}

// TestSequenceAfterATheft: only an account that a list reports is said to hide what was
// stolen; who else uses a mixer is not judged.
func TestSequenceAfterATheft(t *testing.T) {
	mixer := common.HexToAddress("0x12D66f87A04A9E220743712cE6d9bB1B5616B8Fc")
	thief := common.HexToAddress("0x000000002651a7206f8d7a23fe4410edf16dbec3")
	for who, want := range map[common.Address]string{mixer: label.Mixer, thief: label.Reported} {
		if l, _ := label.Lookup(1, who); l.Category != want {
			t.Fatalf("%s has the category %q, want %q", who, l.Category, want)
		}
	}
	somebody := common.HexToAddress("0x1111111111111111111111111111111111111111")
	f := func(name string, from, to common.Address, wei int64, status uint64, want api.SequencePart) {
		t.Helper()
		ch, _ := chain.ByID(1)
		tx := &ethrpc.Transaction{From: from, To: &to, Value: big.NewInt(wei), Gas: 21000, GasPrice: big.NewInt(1)}
		ev := &Evidence{Chain: ch, TxHash: tx.Hash.Hex(), Tx: tx, Receipt: &ethrpc.Receipt{Status: &status, GasUsed: 21000, From: &from, To: &to}}
		r := Build(ev).Result
		var got api.SequencePart
		if r.Sequence != nil {
			got = r.Sequence.Part
		}
		if got != want {
			t.Errorf("%s: %+v, want %q", name, r.Sequence, want)
		}
		if want != "" && !strings.Contains(r.Sequence.Text, "0.1 ETH") {
			t.Errorf("%s: %q", name, r.Sequence.Text)
		}
	}
	f("a reported account", thief, mixer, 1e17, 1, api.PartLaundering)
	f("somebody else", somebody, mixer, 1e17, 1, "")
	f("a reported account pays somebody", thief, somebody, 1e17, 1, "")
	f("nothing was put in", thief, mixer, 0, 1, "")
	f("it failed", thief, mixer, 1e17, 0, "")
}

// TestAfterModel: the part follows the findings that a model added or that fell.
func TestAfterModel(t *testing.T) {
	f := func(name string, before *api.Sequence, findings int, want api.SequencePart) {
		t.Helper()
		r := &api.Result{Sequence: before, Findings: make([]api.Finding, findings)}
		got := AfterModel(r, narrate.Words{})
		if (got == nil) != (want == "") || got != nil && got.Part != want {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
	f("a finding was added", nil, 1, api.PartAttack)
	f("a finding was added to a preparation", &api.Sequence{Part: api.PartPreparation}, 1, api.PartAttack)
	f("the finding stays", &api.Sequence{Part: api.PartAttack}, 1, api.PartAttack)
	f("the finding fell", &api.Sequence{Part: api.PartAttack}, 0, "")
	f("nothing was found", nil, 0, "")
	f("a preparation stays", &api.Sequence{Part: api.PartPreparation}, 0, api.PartPreparation)
}
