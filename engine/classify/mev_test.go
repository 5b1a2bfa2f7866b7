package classify

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/evidence"
	"txlens/engine/explain"
	"txlens/engine/fixture"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// mevFacts composes a recorded flat trace. It has neither logs nor an envelope; what
// the transaction cost is known where the recording has the receipt's gas.
func mevFacts(tb testing.TB, m *fixture.MEV) *Facts {
	tb.Helper()
	ch, _ := chain.ByID(1)
	tree, err := trace.ParseParity(jsontext.NewDecoder(bytes.NewReader(m.Parity)), trace.Limits{})
	if err != nil {
		tb.Fatalf("%s: %v", m.Hash, err)
	}
	root := tree.Root
	tx := &evidence.Transaction{Hash: common.HexToHash(m.Hash), From: root.From, Input: root.Input, Value: root.Value.ToBig(), GasPrice: new(big.Int)}
	if root.HasTo {
		tx.To = &root.To
	}
	rc := &evidence.Receipt{}
	if m.Receipt != nil && m.Receipt.GasUsed > 0 {
		rc.GasUsed, rc.EffectiveGasPrice = m.Receipt.GasUsed, new(big.Int).SetUint64(m.Receipt.Price)
	}
	var blk *evidence.Block
	if m.Block != nil {
		blk = &evidence.Block{Number: m.Block.Number, Miner: common.HexToAddress(m.Block.Miner), BaseFee: new(big.Int).SetUint64(m.Block.BaseFee)}
	}
	return composeBare(ch, tx, rc, blk, tree)
}

// TestRecordedSearchers holds the rules to transactions whose kind others established.
func TestRecordedSearchers(t *testing.T) {
	list := fixture.MEVs(t)
	right := 0
	for i := range list {
		m := &list[i]
		v := Classify(mevFacts(t, m))
		want := wantOfMEV(m.Kind)
		got := tName(v)
		ok := got == want || want == "not mev" && got != "mev" && got != "liquidation"
		if strings.Contains(m.Kind, "reverted") {
			ok = ok && !strings.Contains(v.Summary, "arbitrage over")
		}
		if ok {
			right++
		} else {
			t.Errorf("%s (%s): %s/%s, want %s: %s", m.Hash, m.Kind, got, v.SubType, want, v.Summary)
		}
		t.Logf("%-45s %s/%s %s: %s", m.Kind, got, v.SubType, v.Confidence, v.Summary)
	}
	t.Logf("%d of %d right", right, len(list))
	if len(list) != 20 {
		t.Errorf("%d recordings, want 20", len(list))
	}
}

func wantOfMEV(kind string) string {
	switch k := strings.ToLower(kind); {
	case strings.Contains(k, "reverted"), strings.Contains(k, "must not"):
		return "not mev"
	case strings.Contains(k, "liquidation"):
		return string(explain.TypeLiquidation)
	case strings.Contains(k, "arbitrage"):
		return string(explain.TypeMEV)
	}
	return string(explain.TypeSwap)
}
