package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/label"
	"txlens/engine/trace"
)

type chainInfo struct {
	Slug string `json:"slug"`
	ID   uint64 `json:"id"`
	Name string `json:"name"`
	Full bool   `json:"full,omitempty"` // labels, dollar values and risk flags are complete
}

func (s *Server) listChains(_ context.Context, _ *sdk.CallToolRequest, args arguments) (*reply, error) {
	wanted, err := args.text("text")
	if err != nil {
		return nil, err
	}
	wanted = strings.ToLower(wanted)
	out := &reply{Chains: []chainInfo{}}
	for _, c := range chain.All() {
		if strings.Contains(c.Slug, wanted) || strings.Contains(strings.ToLower(c.Name), wanted) || strconv.FormatUint(c.ID, 10) == wanted {
			out.Chains = append(out.Chains, chainInfo{c.Slug, c.ID, c.Name, c.FullEnrichment})
		}
	}
	if len(out.Chains) == 0 {
		out.Next = "no chain matches; call list_chains without text for all"
	}
	return out, nil
}

// decodedCall is decoded calldata or a decoded log.
type decodedCall struct {
	Name      string    `json:"name"`
	Signature string    `json:"signature"`
	Args      []api.Arg `json:"args"`
	Source    string    `json:"source"` // source of the name
	Note      string    `json:"note,omitempty"`
}

const unknownBytes = "no known signature reproduces these bytes; explain_transaction can use the verified source of the contract"

// compacted limits the arguments of a decoded call.
func compacted(d decodedCall) decodedCall {
	args := d.Args
	if doc, err := jsonv2.Marshal(args, jsontext.AllowInvalidUTF8(true)); err != nil || len(doc) > maxPageBytes {
		args = nil
		d.Note = strings.TrimSpace(d.Note + " the arguments are too long to be listed")
	}
	d.Args = args
	return d
}

func (s *Server) decodeCalldata(_ context.Context, _ *sdk.CallToolRequest, args arguments) (*reply, error) {
	data, err := args.bytes("data")
	if err != nil {
		return nil, err
	}
	if len(data) < 4 {
		return nil, &badArgument{"data", "must have at least the 4 bytes of a selector"}
	}
	// A call that used gas ran code: calldata for an account without code has no function.
	frame := &trace.Frame{Kind: trace.Call, To: unlisted, HasTo: true, Input: data, GasUsed: 1, Depth: 1}
	call := decode.New(nil, decode.Sources{}).All(&trace.Tree{Frames: []*trace.Frame{frame}}, nil).Calls[0]
	if call == nil || call.Name == "" {
		return &reply{Calls: []decodedCall{}, Next: unknownBytes}, nil
	}
	d := compacted(decodedCall{call.Name, call.Signature, call.Args, string(call.Provenance), call.Note})
	return &reply{Calls: []decodedCall{d}}, nil
}

// unlisted is an address that is in no table.
var unlisted = common.HexToAddress("0x1111111111111111111111111111111111111111")

func (s *Server) decodeLog(_ context.Context, _ *sdk.CallToolRequest, args arguments) (*reply, error) {
	var list []string
	if json.Unmarshal(args["topics"], &list) != nil || len(list) == 0 || len(list) > 4 {
		return nil, &badArgument{"topics", "must be a list of one to four topics in hex"}
	}
	topics := make([]common.Hash, len(list))
	for i, s := range list {
		doc, _ := json.Marshal(s)
		raw, err := arguments{"topics": doc}.bytes("topics")
		if err != nil || len(raw) != common.HashLength {
			return nil, &badArgument{"topics", "must have 32 bytes each, in hex"}
		}
		topics[i] = common.BytesToHash(raw)
	}
	data, err := args.bytes("data")
	if err != nil {
		return nil, err
	}
	emitter := unlisted
	if _, given := args["address"]; given {
		if emitter, err = args.address("address"); err != nil {
			return nil, err
		}
	}
	e := decode.New(nil, decode.Sources{}).Event(nil, emitter, topics, data)
	if e == nil {
		return &reply{Calls: []decodedCall{}, Next: unknownBytes}, nil
	}
	d := compacted(decodedCall{e.Name, e.Signature, e.Args, string(e.Provenance), e.Note})
	return &reply{Calls: []decodedCall{d}}, nil
}

// addressReport has the entries of the tables for an address.
type addressReport struct {
	Address  api.Addr `json:"address"`
	Chain    string   `json:"chain"`
	Listed   bool     `json:"listed"`
	Name     string   `json:"name,omitempty"`
	Category string   `json:"category,omitempty"`
	Protocol string   `json:"protocol,omitempty"`
	Source   string   `json:"source,omitempty"`
	// Confidence of the label, as in results.
	Confidence api.LabelConfidence `json:"confidence,omitempty"`
	Symbol     string              `json:"tokenSymbol,omitempty"`
	Decimals   *uint8              `json:"tokenDecimals,omitempty"`
	Precompile string              `json:"precompile,omitempty"`
	Risks      []string            `json:"risks"`
}

func (s *Server) checkAddress(_ context.Context, _ *sdk.CallToolRequest, args arguments) (*reply, error) {
	a, err := args.address("address")
	if err != nil {
		return nil, err
	}
	c, err := args.chain(chainID)
	if err != nil {
		return nil, err
	}
	if c == nil {
		c, _ = chain.ByID(1)
	}
	symbol, err := args.text("symbol")
	if err != nil {
		return nil, err
	}
	r := &addressReport{Address: api.AddrOf(a), Chain: c.Slug, Risks: []string{}}
	if l, ok := label.Lookup(c.ID, a); ok {
		r.Listed, r.Name, r.Category, r.Protocol, r.Source = true, l.Name, l.Category, l.Protocol, l.Source
		r.Confidence = l.Confidence.Text()
		if w := l.Warning(); w != "" {
			r.Risks = append(r.Risks, w+": "+l.Name)
		}
	}
	if t, ok := label.LookupToken(c.ID, a); ok {
		r.Symbol, r.Decimals = t.Symbol, t.Decimals
	}
	if b, ok := chain.Precompile(a); ok {
		r.Precompile = b.Name
	}
	if like := label.Lookalike(c.ID, a, cmp.Or(symbol, r.Symbol)); like != "" {
		r.Risks = append(r.Risks, "its symbol imitates "+like+", which is another contract")
	}
	out := &reply{Label: r}
	if !r.Listed {
		out.Next = "no table knows this address, which says nothing about its safety; explain a transaction of it"
	}
	return out, nil
}
