// Package explain explains a transaction of an EVM chain in one call, for programs in Go that
// want neither a server nor a store:
//
//	r, err := explain.Transaction(ctx, "0x…")
//
// It works by rules alone, at public endpoints or at those that Options names. A program that
// explains many transactions keeps an Explainer. For calldata alone there is decode.Calldata.
package explain

import (
	"context"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
)

// Options of an Explainer. The zero value asks the public endpoints of the chain table and the
// public services for sources, signatures and prices.
type Options struct {
	// Endpoints are JSON-RPC URLs by chain id. They are asked before the public ones.
	Endpoints map[uint64][]string
	// OnlyEndpoints asks the endpoints and nothing else: no public ones and no services.
	OnlyEndpoints bool
}

// Explainer explains transactions. It is safe for concurrent use. Close ends it.
type Explainer struct {
	client   *upstream.Client
	analyses *analysis.Explainer
}

// New returns an Explainer. The error names an endpoint that is no URL.
func New(o Options) (*Explainer, error) {
	client, err := upstream.New(upstream.Config{Endpoints: o.Endpoints, RPCOnly: o.OnlyEndpoints, SourcesOff: o.OnlyEndpoints})
	if err != nil {
		return nil, err
	}
	return &Explainer{client, analysis.New(analysis.Options{SourcesOff: o.OnlyEndpoints})}, nil
}

// Transaction explains the transaction with a hash, on a chain by its id, or on whichever chain has
// it where the id is 0. The errors are those of engine/api: api.FaultOf tells their code.
func (x *Explainer) Transaction(ctx context.Context, chainID uint64, hash string) (*api.Result, error) {
	req := api.Request{TxHash: hash, ChainID: chainID}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	m := new(meter.Meter)
	return x.analyses.Explain(ctx, analysis.Input{Request: req, World: x.client.Session(m, nil), Meter: m})
}

// Close waits for the analyses that run, and ends the connections.
func (x *Explainer) Close() {
	x.analyses.Close()
	x.client.Close()
}

// Transaction explains one transaction at public endpoints, on whichever chain has it.
func Transaction(ctx context.Context, hash string) (*api.Result, error) {
	x, err := New(Options{})
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.Transaction(ctx, 0, hash)
}
