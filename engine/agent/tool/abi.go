package tool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

type abiInput struct {
	Address Address `json:"address" need:"" doc:"the contract"`
	Match   *string `json:"match"           doc:"part of a name, or a whole selector or topic in 0x hex" max:"80"`
	Offset  int     `json:"offset"          doc:"rows to pass over"                                      max:"100000" min:"0"`
	Limit   *int    `json:"limit"           doc:"rows at most; 60 when absent"                           max:"150"    min:"1"`
}

// ABIView is a page of a verified interface.
type ABIView struct {
	Address api.Addr `json:"address"` // the address in the question
	Page
	Name           string     `json:"name,omitempty"`
	Origin         string     `json:"origin,omitempty"`
	Match          string     `json:"match,omitempty"` // exact_match, match
	ProxyKind      string     `json:"proxyKind,omitempty"`
	Implementation *api.Addr  `json:"implementation,omitempty"`
	Entries        []ABIEntry `json:"entries"`
}

// ABIEntry is one function, event or error.
type ABIEntry struct {
	Kind      string  `json:"kind"` // function, event, error
	ID        api.Hex `json:"id"`   // selector or topic
	Signature string  `json:"signature"`
	Params    string  `json:"params,omitempty"` // with names
	Returns   string  `json:"returns,omitempty"`
	State     string  `json:"state,omitempty"` // view, pure, nonpayable, payable
}

var getABI = define(
	"get_abi",
	"Verified interface of a contract: functions, events and errors with selector or topic, parameter names and mutability. Of a proxy, ask for the implementation.",
	limitRemote,
	func(ctx context.Context, d *Env, in *abiInput) (any, error) {
		c, err := d.contract(ctx, common.Address(in.Address))
		if err != nil {
			return nil, err
		}
		if c == nil || c.ABI == nil {
			return unavailable("nobody verified this contract, so its interface is not known")
		}
		all := slices.DeleteFunc(abiEntries(c.ABI), func(e ABIEntry) bool {
			return in.Match != nil && !strings.Contains(strings.ToLower(e.Signature), strings.ToLower(*in.Match)) &&
				!strings.EqualFold(e.ID.String(), *in.Match)
		})
		v := ABIView{Address: api.Addr(in.Address), Name: c.Name, Origin: c.Source, Match: c.Match, ProxyKind: c.ProxyKind}
		if c.Implementation != nil {
			a := api.AddrOf(*c.Implementation)
			v.Implementation = &a
		}
		v.Entries, v.Page = pageOf(len(all), in.Offset, or(in.Limit, 60), func(i int) ABIEntry { return all[i] })
		return v, nil
	},
)

// contract returns what is known about the code at an address, from the evidence or a
// request. It returns nil if the source is not verified.
func (d *Env) contract(ctx context.Context, a common.Address) (*decode.Contract, error) {
	if c := d.Case.Evidence.Contracts[a]; c != nil {
		return c, nil
	}
	w, err := d.world()
	if err != nil {
		return nil, err
	}
	src, err := w.Source(ctx, d.chain(), a)
	if errors.Is(err, upstream.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &decode.Contract{
		Address:        a,
		Name:           src.Name,
		Source:         src.Origin,
		Match:          src.Match,
		Implementation: src.Implementation,
		ProxyKind:      src.ProxyKind,
	}
	c.ABI, _ = decode.ParseABI(src.ABIJSON) // an ABI that cannot be read is as none
	return c, nil
}

// abiEntries lists functions, events and errors of an interface, sorted by signature.
func abiEntries(a *abi.ABI) (out []ABIEntry) {
	for _, name := range slices.Sorted(maps.Keys(a.Methods)) {
		m := a.Methods[name]
		out = append(out, ABIEntry{"function", api.Hex(m.ID), m.Sig, params(m.Inputs), params(m.Outputs), m.StateMutability})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Events)) {
		e := a.Events[name]
		out = append(out, ABIEntry{Kind: "event", ID: api.Hex(e.ID[:]), Signature: e.Sig, Params: params(e.Inputs)})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Errors)) {
		e := a.Errors[name]
		out = append(out, ABIEntry{Kind: "error", ID: api.Hex(e.ID[:4]), Signature: e.Sig, Params: params(e.Inputs)})
	}
	return out
}

// params writes types with their names.
func params(args abi.Arguments) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.Type.String()
		if a.Indexed {
			parts[i] += " indexed"
		}
		if a.Name != "" {
			parts[i] += " " + a.Name
		}
	}
	return api.OneLine(strings.Join(parts, ", "), 180)
}
