package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holiman/uint256"

	"txlens/app"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/engine/upstream"
	"txlens/transport"
	"txlens/transport/client"
)

// market has all parts of a sale in one process: a settlement chain, a service that sells
// the analyses of its bundles, and a client that pays. close deletes its folder.
type market struct {
	chain  *sandbox.Chain
	client *client.Client
	at     string // address of the service
	closes []func() error

	sales  []demoSale
	signed atomic.Int64 // vouchers so far
}

// demoSale is one analysis that was bought.
type demoSale struct {
	res      *api.Result
	charged  tempo.Amount
	vouchers int
}

// openMarket starts chain and service on loopback and gives the client $100 of the
// sandbox's money.
func openMarket(ctx context.Context, shelf []*upstream.Bundle) (_ *market, err error) {
	m := &market{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	dir, err := os.MkdirTemp("", "txlens-demo-*")
	if err != nil {
		return nil, err
	}
	m.later(func() error { return os.RemoveAll(dir) })
	keyFile := filepath.Join(dir, "payee.key")
	payee, err := client.NewKey(keyFile)
	if err != nil {
		return nil, err
	}
	payer, _, err := tempo.GenerateSecp256k1Key()
	if err != nil {
		return nil, err
	}
	purse := *uint256.NewInt(100_000_000)
	suggested := tempo.AmountFrom(16_000_000)
	m.chain, err = sandbox.New(sandbox.Options{Fund: []sandbox.Funding{
		{Account: payer.Address(), Amount: purse}, {Account: payee.Address(), Amount: purse},
	}})
	if err != nil {
		return nil, err
	}
	rpc, err := m.serve(&http.Server{Handler: m.chain, ReadHeaderTimeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	endpoints := []string{"http://" + rpc}
	if err := m.open(ctx, app.Options{
		Listen: "127.0.0.1:0", DataDir: dir, Grace: time.Second, Explain: shelved(shelf).Explain,
		Sale: &app.SaleOptions{RPC: endpoints, ChainID: m.chain.ChainID(), Token: sandbox.PathUSD, Key: payee, Realm: "demo", SuggestedDeposit: suggested},
	}); err != nil {
		return nil, err
	}
	m.client, err = client.New(client.Options{
		Server: "http://" + m.at, Key: payer, Dir: filepath.Join(dir, "wallet"), OnMoney: m.money,
		Chain: client.Chain{ID: m.chain.ChainID(), Token: sandbox.PathUSD, RPC: endpoints},
	})
	if err != nil {
		return nil, err
	}
	m.later(m.client.Close)
	return m, nil
}

// later registers a function that close calls before those registered so far.
func (m *market) later(do func() error) { m.closes = append(m.closes, do) }

// close stops the parts of the market in the reverse order of their start.
func (m *market) close() (err error) {
	for _, do := range slices.Backward(m.closes) {
		err = errors.Join(err, do())
	}
	return err
}

// serve starts a server on a loopback address.
func (m *market) serve(srv *http.Server) (address string, err error) {
	ln, err := loopback()
	if err != nil {
		return "", err
	}
	go srv.Serve(ln)
	m.later(srv.Close)
	return ln.Addr().String(), nil
}

// loopback listens on a loopback address, which works without a network.
func loopback() (net.Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c, err := net.DialTimeout("tcp", ln.Addr().String(), 2*time.Second)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the loopback interface is down: %w", err), ln.Close())
	}
	return ln, c.Close()
}

// open starts the service.
func (m *market) open(ctx context.Context, o app.Options) error {
	srv, err := app.New(ctx, o)
	if err != nil {
		return err
	}
	m.later(srv.Close)
	m.at = srv.Address().String()
	work, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(work) }()
	m.later(func() error { stop(); return <-served })
	return nil
}

// shelved is an Explainer of the transactions of its bundles only.
type shelved []*upstream.Bundle

// Explain replays the bundle of the transaction.
func (s shelved) Explain(ctx context.Context, spec transport.RunSpec) (*api.Result, error) {
	for _, b := range s {
		if b.Meta.TxHash == spec.Request.TxHash && b.Meta.ChainID == spec.Request.ChainID {
			return app.Replay(ctx, b, spec)
		}
	}
	return nil, api.ErrNotFound
}

// money counts vouchers.
func (m *market) money(e client.Money) {
	if e.Kind == client.MoneySigned {
		m.signed.Add(1)
	}
}

// buy pays for one analysis.
func (m *market) buy(ctx context.Context, b *upstream.Bundle) (*api.Result, error) {
	before := m.signed.Load()
	a, err := m.client.Explain(ctx, api.Request{TxHash: b.Meta.TxHash, ChainID: b.Meta.ChainID, Context: b.Meta.Context}, nil)
	if err != nil {
		return nil, fmt.Errorf("buy the analysis of %s: %w", b.Meta.TxHash, err)
	}
	m.sales = append(m.sales, demoSale{a.Result, a.Charged, int(m.signed.Load() - before)})
	return a.Result, nil
}

// bill prints the charges and how the channel ended. It returns an error if what the
// client was told differs from the books of the chain.
func (m *market) bill(w io.Writer, end client.Refund) error {
	rows := [][]string{{"TRANSACTION", "CALLS", "COST", "x 1.20 + $0.02", "CHARGED", "VOUCHERS"}}
	var sum tempo.Amount
	var costs, calls int64
	vouchers := 0
	for _, s := range m.sales {
		nano, err := nanoOf(s.res.Costs.TotalUSD)
		if err != nil {
			return err
		}
		if owed := tempo.AmountFrom(meter.Owed(nano)); s.charged != owed {
			return fmt.Errorf("the service charged %s for what comes to %s", s.charged, owed)
		}
		rows = append(rows, saleRow(s.res.TxHash[:10]+"…", int64(len(s.res.ToolCalls)), nano, s.charged, s.vouchers))
		sum, costs, calls, vouchers = plus(sum, s.charged), costs+nano, calls+int64(len(s.res.ToolCalls)), vouchers+s.vouchers
	}
	books := m.chain.Books().Channels
	if len(books) != 1 || books[0].Open || books[0].Captured.Cmp(sum.Uint256()) != 0 || books[0].Refunded.Cmp(end.Refunded.Uint256()) != 0 {
		return fmt.Errorf("the chain has booked %+v, and $%s were charged", books, mpp.FormatTokens(sum))
	}
	rows = append(rows, []string{"all", fmt.Sprint(calls), usd(costs, 9), "", "$" + mpp.FormatTokens(sum), fmt.Sprint(vouchers)})
	fmt.Fprintf(w, `Paid, on a settlement sandbox in this process: its money is worth nothing.

The service listened on %s. Each analysis above came over a stream
that was paid for while it ran, all from one payment channel.

`, m.at)
	if err := writeTable(w, rows, " rrrrr"); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
The cost is that of the recorded calls: %s.
20 %% and $0.02 come on top; what that makes goes up to the next cent.

Channel    %s
  Deposit  $%s
  Charged  $%s, which the service took when the channel was closed
  Refund   $%s, back with the payer
  Closed   %s
`, m.buckets(), end.Channel.ID.Hex(), mpp.FormatTokens(end.Channel.Deposit), mpp.FormatTokens(end.Captured), mpp.FormatTokens(end.Refunded), end.TxHash.Hex())
	return err
}

// saleRow shows the steps from the cost, in nano-dollars, to the charge.
func saleRow(name string, calls, nano int64, charged tempo.Amount, vouchers int) []string {
	const fixed = 2 * 10_000_000 * 10 // $0.02 in tenths of a nano-dollar
	return []string{name, fmt.Sprint(calls), usd(nano, 9), usd(nano*12+fixed, 10), "$" + mpp.FormatTokens(charged), fmt.Sprint(vouchers)}
}

// usd formats an amount in units of 10^-scale dollars.
func usd(n int64, scale int) string {
	return "$" + api.Decimal{Unscaled: big.NewInt(n), Scale: scale}.String()
}

// buckets lists the parts of the cost that are not zero.
func (m *market) buckets() string {
	var parts []string
	for _, b := range []struct {
		name string
		of   func(api.Costs) api.Decimal
	}{
		{"data collection", func(c api.Costs) api.Decimal { return c.DataCollection }},
		{"code execution", func(c api.Costs) api.Decimal { return c.CodeExecution }},
		{"language models", func(c api.Costs) api.Decimal { return c.LLMs }},
		{"other", func(c api.Costs) api.Decimal { return c.Other }},
	} {
		var sum int64
		for _, s := range m.sales {
			nano, _ := nanoOf(b.of(s.res.Costs)) // the total was read already
			sum += nano
		}
		if sum != 0 {
			parts = append(parts, usd(sum, 9)+" "+b.name)
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// nanoOf is a cost in nano-dollars.
func nanoOf(d api.Decimal) (int64, error) {
	if d.Unscaled == nil {
		return 0, nil
	}
	n := new(big.Int).Set(d.Unscaled)
	if d.Scale > 9 {
		return 0, fmt.Errorf("the cost of %s is finer than a nano-dollar", d)
	}
	n.Mul(n, api.PowerOfTen(9-d.Scale))
	if !n.IsInt64() {
		return 0, fmt.Errorf("the cost of %s is out of range", d)
	}
	return n.Int64(), nil
}
