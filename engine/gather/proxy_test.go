package gather

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// upgrading is a world in which the called proxy changed its EIP-1967 slot in block 7.
type upgrading struct {
	World
	asked []string
}

var impl6, impl7 = common.Address{0x66}, common.Address{0x77}

func (u *upgrading) Code(_ context.Context, _ *chain.Chain, a common.Address, _ uint64) ([]byte, error) {
	if a == (common.Address{2}) {
		return []byte{0xf4}, nil
	}
	return []byte{0}, nil
}

func (u *upgrading) Storage(_ context.Context, _ *chain.Chain, _ common.Address, slot common.Hash, block uint64) (common.Hash, error) {
	h := crypto.Keccak256Hash([]byte("eip1967.proxy.implementation"))
	if h[31]--; slot != h {
		return common.Hash{}, nil
	}
	u.asked = append(u.asked, fmt.Sprint(block))
	if block < 7 {
		return common.BytesToHash(impl6[:]), nil
	}
	return common.BytesToHash(impl7[:]), nil
}

func (u *upgrading) Source(_ context.Context, _ *chain.Chain, a common.Address) (*upstream.Source, error) {
	return &upstream.Source{Name: "At" + a.Hex()[2:4]}, nil
}

func (u *upgrading) Signatures(context.Context, [][4]byte, []common.Hash) (*upstream.SignatureSet, error) {
	return nil, nil
}

// TestProxyAsOfTheTransaction: both ends of the block are read, and both
// implementations are looked up.
func TestProxyAsOfTheTransaction(t *testing.T) {
	ch, _ := chain.ByID(1)
	tx := called()
	topic := crypto.Keccak256Hash([]byte("Upgraded(address)"))
	rc := &ethrpc.Receipt{Logs: []ethrpc.Log{{Address: *tx.To, Topics: []common.Hash{topic, common.BytesToHash(impl7[:])}}}}
	u := &upgrading{}
	s, err := Sources(t.Context(), u, ch, tx, trace.FromReceipt(tx, rc, true), rc, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Contracts[*tx.To]
	if c == nil || c.Implementation == nil || *c.Implementation != impl6 || c.Upgraded == nil || *c.Upgraded != impl7 || c.ProxyKind != "eip1967" {
		t.Fatalf("%+v", c)
	}
	if s.Contracts[impl6].Name != "At66" || s.Contracts[impl7].Name != "At77" || !slices.Equal(u.asked, []string{"7", "6"}) {
		t.Errorf("%v, asked at %v", s.Contracts, u.asked)
	}
}
