package check_test

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/narrate"
	"txlens/engine/trace"
	"txlens/engine/verdict"
	"txlens/testkit/fixture"
	"txlens/testkit/recorded"
	"txlens/testkit/size"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// TestNoExploitInBlocks: of the transactions of whole recorded blocks none is an exploit,
// and each check comes out with a reason.
func TestNoExploitInBlocks(t *testing.T) {
	n, asking, findings := 0, 0, 0
	outcomes := map[verdict.Ruled]int{}
	for ev := range recorded.Sample(t) {
		ev.Triage = true
		c := assemble.Build(ev)
		n++
		if r := c.Result; r.TxType != nil && *r.TxType == api.TypeExploit || len(r.Findings) > 0 || c.Triage.Exploit {
			t.Errorf("%s: an exploit: %s", ev.TxHash, c.Result.Summary)
		}
		if len(c.Triage.Findings) > 0 {
			findings++
			t.Logf("%s: %s %s", ev.TxHash, c.Triage.Findings[0].Facts.Category, narrate.Sentence(c.Words, c.Triage.Findings[0].Invariant))
		}
		if len(c.Triage.Questions) > 0 {
			asking++
			t.Logf("%s asks %d: %s", ev.TxHash, len(c.Triage.Questions), c.Triage.Questions[0].Asker)
		}
		lines := 0
		for _, o := range c.Triage.Outcomes {
			outcomes[o.Result]++
			if o.Result != verdict.Found {
				lines++
			}
			if o.Result != verdict.Found && o.Why.Form == 0 {
				t.Errorf("%s: %s is %s without a reason", ev.TxHash, o.Name, o.Result)
			}
		}
		if len(c.Triage.Outcomes) != len(check.Listed()) || len(c.Result.NonFindings) != lines {
			t.Errorf("%s: %d outcomes of %d checks, %d lines", ev.TxHash, len(c.Triage.Outcomes), len(check.Listed()), len(c.Result.NonFindings))
		}
		for _, line := range c.Result.NonFindings {
			if strings.ContainsAny(line, "\n\r") {
				t.Errorf("%s: %q is more than one line", ev.TxHash, line)
			}
		}
	}
	t.Logf("%d transactions, findings in %d, questions in %d, outcomes %v", n, findings, asking, outcomes)
	if n < size.Of(40, 400) {
		t.Errorf("only %d transactions", n)
	}
}

// TestNoExploitOfSearchers: flash loans, profits and fresh contracts of searchers, known by
// their flat traces alone, are no exploit.
func TestNoExploitOfSearchers(t *testing.T) {
	ch, _ := chain.ByID(1)
	for _, m := range fixture.MEVs(t) {
		tree, err := trace.ParseParity(jsontext.NewDecoder(bytes.NewReader(m.Parity)), trace.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", m.Hash, err)
		}
		root, status := tree.Root, uint64(1)
		if root.Err != "" {
			status = 0
		}
		ev := &assemble.Evidence{TxHash: m.Hash, Chain: ch, Tree: tree, Version: "test", Triage: true,
			Tx:      &ethrpc.Transaction{Hash: common.HexToHash(m.Hash), From: root.From, To: &root.To, Input: root.Input, Value: root.Value.ToBig(), GasPrice: new(big.Int)},
			Receipt: &ethrpc.Receipt{Status: &status, EffectiveGasPrice: new(big.Int)}}
		c := assemble.Build(ev)
		if c.Triage.Exploit || len(c.Triage.Findings) > 0 {
			t.Errorf("%s (%s): %s", m.Hash, m.Kind, c.Result.Summary)
		}
		if len(c.Triage.Questions) > 0 {
			t.Logf("%s (%s) asks %d, flags %v", m.Hash, m.Kind, len(c.Triage.Questions), names(c.Triage.Flags))
		}
	}
}
