package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// direct is a transport that calls a handler in place of a server. Call n of all, from
// 0 on, fails where broken says so.
type direct struct {
	h      http.Handler
	calls  int
	broken func(n int) bool
}

var errNetwork = errors.New("network is unreachable")

func (d *direct) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	n := d.calls
	d.calls++
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if d.broken != nil && d.broken(n) {
		return nil, errNetwork
	}
	defer func() {
		if recover() == http.ErrAbortHandler {
			resp, err = nil, io.ErrUnexpectedEOF
		}
	}()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	in := req.Clone(req.Context())
	in.Body, in.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, in)
	return w.Result(), nil
}

// payer is a client without a network, and what it was told of money.
type payer struct {
	*Client
	r     *rogue
	web   *direct
	node  *direct
	moves []Money
}

func (r *rogue) payer(change ...func(*Options)) *payer {
	r.t.Helper()
	x := &payer{r: r, web: &direct{h: r}, node: &direct{h: r.chain}}
	o := Options{
		Server: "http://127.0.0.1:1", Key: r.key, Dir: r.dir,
		Chain:   Chain{ID: r.chain.ChainID(), Token: sandbox.PathUSD, RPC: []string{"http://127.0.0.1:2"}},
		OnMoney: func(m Money) { x.moves = append(x.moves, m) },
	}
	for _, f := range change {
		f(&o)
	}
	x.Client = must(New(o))
	x.Client.web.Transport = x.web
	x.chain.rpc = must(settle.New(settle.Options{URLs: o.Chain.RPC, Domain: x.chain.domain, Transport: x.node}))
	r.t.Cleanup(func() { x.Close() })
	return x
}

// virtual runs a test with a rogue in virtual time.
func virtual(t *testing.T, f func(r *rogue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newDirect(t)) })
}

// honest has a server take what comes: it mines transactions and sells results.
func (r *rogue) honest() {
	r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
		mined(r, must(cr.Payload()))
		if req.ContentLength == 0 {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		r.stream(w, cr, r.result())
	}
}

// row is a channel of so many cents, as the file has it.
func (r *rogue) row(deposit, signed, spent uint64) row {
	d := descriptor{Payer: r.key.Address(), Payee: common.Address{9}, Token: sandbox.PathUSD, Salt: common.Hash{byte(deposit)}, AuthorizedSigner: r.key.Address()}
	return row{
		ID: tempo.Descriptor(d).ID(r.chain.ChainID(), tempo.Escrow), ChainID: r.chain.ChainID(), Escrow: tempo.Escrow, Descriptor: d,
		State: Open, Deposit: usd(deposit), Signed: usd(signed), Spent: usd(spent), OpenedAt: time.Now().Unix(),
	}
}

// purchase is a request that is paid from a row, which the file has alone.
func (x *payer) purchase(rw row) *purchase {
	x.store.book.Channels = []row{rw}
	p := x.newPurchase()
	p.channel = rw.ID
	return p
}

// said lists what the payer was told, with the amounts in base units.
func (x *payer) said() (list []string) {
	for _, m := range x.moves {
		list = append(list, string(m.Kind)+" "+m.Amount.String())
	}
	return list
}
