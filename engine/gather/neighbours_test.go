package gather

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/upstream"
	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"
)

// TestNeighbours: the receipts around a trade come in one request, a replay gives the
// same, what does not trade costs nothing, and a node without them is no neighbour.
func TestNeighbours(t *testing.T) {
	var block *fixture.Block
	for _, b := range fixture.Blocks(t) {
		if b.ChainID == 1 && b.Number == 21688509 {
			block = &b
			break
		}
	}
	if block == nil {
		t.Fatal("block 21688509 is not recorded")
	}
	node := stubnode.New([]fixture.Block{*block}, stubnode.Options{})
	client, err := upstream.New(upstream.Config{RPCOnly: true, Endpoints: map[uint64][]string{1: {node.Start(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ch, _ := chain.ByID(1)
	ctx := context.Background()
	ask := func(s *upstream.Session, i int) (*ethrpc.Neighbours, error) {
		t.Helper()
		tx, err := ethrpc.ParseTransaction(block.Txs[i].Tx)
		if err != nil {
			t.Fatal(err)
		}
		facts, err := ReadFacts(ctx, s, ch, tx.Hash)
		if err != nil {
			t.Fatal(err)
		}
		return Neighbours(ctx, s, ch, facts.Tx, facts.Receipt, facts.Block)
	}

	rec := upstream.NewRecorder()
	got, err := ask(client.Session(nil, rec), 4)
	if err != nil || len(got.Before) != 4 || len(got.After) == 0 || len(got.After) > 4 {
		t.Fatalf("neighbours %+v: %v", got, err)
	}
	// The transaction, its receipt, its block, and one batch.
	if n := node.Requests(); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
	if again, err := ask(upstream.ReplaySession(rec.Bundle(), nil), 4); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("the replay differs: %v", err)
	}

	quiet := -1
	for i := range block.Txs {
		if rc, err := ethrpc.ParseReceipt(block.Txs[i].Receipt); err == nil && len(rc.Logs) == 0 {
			quiet = i
			break
		}
	}
	before := node.Requests()
	if got, err := ask(client.Session(nil, nil), quiet); got != nil || err != nil || node.Requests()-before != 3 {
		t.Errorf("a transaction without trade: %+v, %v, %d requests", got, err, node.Requests()-before)
	}

	s := client.Session(nil, nil)
	tx, err := ethrpc.ParseTransaction(block.Txs[4].Tx)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := ReadFacts(ctx, s, ch, tx.Hash)
	if err != nil {
		t.Fatal(err)
	}
	node.Handle("eth_getTransactionReceipt", func([]json.RawMessage) (json.RawMessage, error) { return nil, stubnode.ErrMethodNotFound })
	if got, err := Neighbours(ctx, s, ch, facts.Tx, facts.Receipt, facts.Block); got != nil || err == nil {
		t.Errorf("a node without receipts: %+v, %v", got, err)
	}
	op, _ := chain.ByID(10)
	if got, err := Neighbours(ctx, s, op, facts.Tx, facts.Receipt, facts.Block); got != nil || err != nil {
		t.Errorf("a chain with one sequencer: %+v, %v", got, err)
	}
}
