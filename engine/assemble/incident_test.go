package assemble

import (
	"errors"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/incident"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
)

// TestKnownIncidentDecidesNothing: without the table each result is the same but for the
// member that shows it.
func TestKnownIncidentDecidesNothing(t *testing.T) {
	shown := 0
	for _, x := range fixture.Exploits(t) {
		with := Build(exploitEvidence(t, &x)).Result
		published = func(uint64, common.Hash) (incident.Incident, bool) { return incident.Incident{}, false }
		without := Build(exploitEvidence(t, &x)).Result
		published = incident.Lookup
		if with.KnownIncident != nil {
			shown++
			if with.KnownIncident.Source == "" || with.KnownIncident.Name == "" {
				t.Errorf("%s: %+v", x.Hash, with.KnownIncident)
			}
		}
		with.KnownIncident = nil
		a, _ := json.Marshal(with, json.Deterministic(true))
		b, _ := json.Marshal(without, json.Deterministic(true))
		if string(a) != string(b) {
			t.Errorf("%s: the table changes the result", x.Hash)
		}
	}
	if shown < 20 {
		t.Errorf("only %d incidents are known", shown)
	}
}

// exploitEvidence is a recorded incident without its tokens.
func exploitEvidence(t *testing.T, x *fixture.Exploit) *Evidence {
	t.Helper()
	ch, _ := chain.ByID(x.ChainID)
	ev := &Evidence{Chain: ch, Version: "test", TxHash: x.Hash, Triage: true}
	var errs [3]error
	ev.Tx, errs[0] = ethrpc.ParseTransaction(x.Tx)
	ev.Receipt, errs[1] = ethrpc.ParseReceipt(x.Receipt)
	ev.Tree, errs[2] = trace.ParseCallTracerBytes(x.Trace, trace.Limits{})
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return ev
}
