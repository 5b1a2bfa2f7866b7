package main

import (
	"context"
	stdjson "encoding/json"
	"testing"

	"github.com/go-json-experiment/json"

	"txlens/engine/explain"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/transport/client"
)

// client makes one that pays the shop.
func (s *shop) client(t *testing.T, dir string, limits client.Limits) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{
		Server: s.base, Key: s.key, Dir: dir, Limits: limits,
		Chain:   client.Chain{ID: s.chain.ChainID(), Token: sandbox.PathUSD, RPC: []string{s.rpc}},
		OnMoney: func(m client.Money) { t.Logf("%s %s %s", m.Kind, m.Amount, m.Text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestClientStream: from the first 402 to the refund.
func TestClientStream(t *testing.T) {
	s := newShop(t)
	c := s.client(t, t.TempDir(), client.Limits{})
	events := 0
	a, err := c.Explain(context.Background(), explain.Request{TxHash: s.w.tx.Hash, ChainID: 1}, func(explain.Event) { events++ })
	if err != nil {
		t.Fatal(err)
	}
	want := cost(t, a.Result)
	if a.Charged != want || a.Result.TxHash != s.w.tx.Hash || events == 0 || a.Recovered {
		t.Errorf("charged %s, want %s; %d events; %+v", a.Charged, want, events, a.Result.Summary)
	}
	end, err := c.CloseChannel(context.Background())
	if err != nil || end.Captured != want || !end.Confirmed {
		t.Errorf("%+v, %v", end, err)
	}
}

// cost is what a result must cost, by its own costs.
func cost(t *testing.T, r *explain.Result) tempo.Amount {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return tempo.AmountFrom(price(t, stdjson.RawMessage(raw)))
}
