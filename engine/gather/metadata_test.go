package gather

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// falling is a world whose answers make the readers fall over.
type falling struct{ World }

func (falling) Transaction(context.Context, *chain.Chain, common.Hash) (*ethrpc.Transaction, error) {
	return called(), nil
}
func (falling) Receipt(context.Context, *chain.Chain, common.Hash) (*ethrpc.Receipt, error) {
	return &ethrpc.Receipt{}, nil
}
func (falling) Block(context.Context, *chain.Chain, uint64, bool) (*ethrpc.Block, error) {
	panic("no block")
}
func (falling) Source(context.Context, *chain.Chain, common.Address) (*upstream.Source, error) {
	panic("no source")
}
func (falling) Signatures(context.Context, [][4]byte, []common.Hash) (*upstream.SignatureSet, error) {
	return nil, nil
}

func called() *ethrpc.Transaction {
	to, number := common.Address{2}, uint64(7)
	return &ethrpc.Transaction{From: common.Address{1}, To: &to, Value: new(big.Int), Input: []byte{1, 2, 3, 4}, BlockNumber: &number}
}

// TestPanicsBesideTheCaller: a panic in a goroutine of this package costs what
// that goroutine was to find, not the process.
func TestPanicsBesideTheCaller(t *testing.T) {
	ch, _ := chain.ByID(1)
	tx, rc := called(), &ethrpc.Receipt{}
	_, err := Sources(t.Context(), falling{}, ch, tx, trace.FromReceipt(tx, rc, true), rc, nil)
	if err == nil || !strings.Contains(err.Error(), "internal fault: no source") {
		t.Errorf("sources: %v", err)
	}
	facts, err := ReadFacts(t.Context(), falling{}, ch, common.Hash{})
	if facts == nil || err != nil || facts.NoBlock == nil || !strings.Contains(facts.NoBlock.Error(), "internal fault: no block") {
		t.Errorf("facts: %v, %v", facts, err)
	}
}
