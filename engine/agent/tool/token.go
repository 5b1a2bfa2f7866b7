package tool

import (
	"context"
	"errors"
	"math/big"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/gather"
	"txlens/engine/label"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

type tokenInput struct {
	Token Address `json:"token" need:"" doc:"the token contract"`
}

// TokenView is what is known of a token.
type TokenView struct {
	Token        api.Addr `json:"token"`
	Symbol       string   `json:"symbol,omitempty"`
	Name         string   `json:"name,omitempty"`
	Decimals     *uint8   `json:"decimals,omitempty"`
	Source       string   `json:"source,omitempty"` // an embedded list, or chain; on chain anybody can choose any name
	Listed       bool     `json:"listed"`
	Imitates     string   `json:"imitates,omitempty"` // symbol of a listed token
	SupplyBefore string   `json:"supplyBefore,omitempty"`
	SupplyAfter  string   `json:"supplyAfter,omitempty"` // base units, at the ends of the blocks
	Minted       string   `json:"minted,omitempty"`      // by transfers from the zero address in this transaction, base units
	Burnt        string   `json:"burnt,omitempty"`
	Missing      []string `json:"missing,omitempty"`
}

var getToken = define(
	"get_token",
	"Facts of a token: symbol, name, decimals, whether a list has it or it imitates a listed one, total supply before and after, what was minted and burnt here.",
	limitRemote,
	func(ctx context.Context, d *Env, in *tokenInput) (any, error) {
		a := common.Address(in.Token)
		n, ok := d.block()
		if !ok {
			return unavailable(noBlock)
		}
		t, known := d.Case.Evidence.Tokens[a]
		if !known {
			t, known = label.LookupToken(d.chain().ID, a)
		}
		v := TokenView{Token: api.AddrOf(a)}
		w, err := d.world()
		if err != nil && !known {
			return nil, err
		}
		if !known {
			if t, err = fetchToken(ctx, d, w, a, n); err != nil {
				return nil, err
			}
		}
		v.Symbol, v.Name, v.Decimals, v.Source, v.Listed, v.Imitates = t.Symbol, t.Name, t.Decimals, t.Source, t.Listed, t.Lookalike
		if t.Symbol == "" && t.Decimals == nil {
			v.Missing = append(v.Missing, "it answers neither symbol nor decimals")
		}
		d.minted(&v, a)
		if w == nil {
			v.Missing = append(v.Missing, "supply: "+errClosed.Error())
			return v, nil
		}
		return v, d.supply(ctx, w, &v, a, n)
	},
)

func fetchToken(ctx context.Context, d *Env, w gather.World, a common.Address, block uint64) (label.Token, error) {
	found, err := label.Fetch(ctx, callAt{w, d, block}, d.chain(), block, []common.Address{a})
	return found[a], err
}

// callAt is a label.Caller at a block.
type callAt struct {
	w     gather.World
	d     *Env
	block uint64
}

func (c callAt) CallContract(ctx context.Context, to common.Address, data []byte) ([]byte, error) {
	return c.w.Call(ctx, c.d.chain(), to, data, c.block)
}

func (d *Env) supply(ctx context.Context, w gather.World, v *TokenView, a common.Address, block uint64) error {
	var at [2]*big.Int
	err := each(2, func(i int) (err error) {
		at[i], err = number(w.Call(ctx, d.chain(), a, evmsig.SelTotalSupply[:], block-1+uint64(i)))
		return err
	})
	switch {
	case errors.Is(err, errNoNumber) || errors.Is(err, upstream.ErrReverted):
		v.Missing = append(v.Missing, "it does not answer totalSupply at both blocks")
		return nil
	case err != nil:
		return err
	}
	v.SupplyBefore, v.SupplyAfter = at[0].String(), at[1].String()
	return nil
}

func (d *Env) minted(v *TokenView, a common.Address) {
	minted, burnt := new(big.Int), new(big.Int)
	for _, t := range d.Case.Flow.Transfers {
		if t.Token != a || t.Standard != flow.ERC20 {
			continue
		}
		if t.From == (common.Address{}) {
			minted.Add(minted, t.Amount)
		}
		if t.To == (common.Address{}) {
			burnt.Add(burnt, t.Amount)
		}
	}
	if minted.Sign() > 0 {
		v.Minted = minted.String()
	}
	if burnt.Sign() > 0 {
		v.Burnt = burnt.String()
	}
}

type priceInput struct {
	Token Address `json:"token" need:"" doc:"the token; the zero address is the native coin"`
}

// PriceView is the price of one whole token at the time of the block.
type PriceView struct {
	Token    api.Addr    `json:"token"`
	Symbol   string      `json:"symbol,omitempty"`
	PriceUSD api.Decimal `json:"priceUsd"`
	Time     uint64      `json:"time"` // Unix seconds of the quote
	Source   string      `json:"source"`
}

var getPrice = define(
	"get_price",
	"Price of one whole token in USD at the time of the block, from a price service. It is a market price, not the rate at which this transaction traded.",
	limitRemote,
	func(ctx context.Context, d *Env, in *priceInput) (any, error) {
		a := common.Address(in.Token)
		v := PriceView{Token: api.AddrOf(a)}
		v.Symbol, _ = d.symbol(a)
		if p, ok := d.Case.Evidence.Prices[a]; ok {
			v.PriceUSD, v.Time, v.Source = p.USD, p.Time, p.Source
			return v, nil
		}
		if d.Case.Evidence.Block == nil {
			return unavailable("the time of the block is not known")
		}
		w, err := d.world()
		if err != nil {
			return nil, err
		}
		found, err := w.Prices(ctx, d.chain(), d.Case.Evidence.Block.Timestamp, []common.Address{a})
		p, ok := found[a]
		switch {
		case ok:
			v.PriceUSD, v.Time, v.Source = p.USD, p.Time, p.Source
			return v, nil
		case err != nil:
			return nil, err
		}
		return unavailable("no price of it at that time can be trusted: its value in USD is not known")
	},
)

type labelInput struct {
	Addresses []Address `json:"addresses" need:"" max:"30" doc:"whose names"`
}

// LabelView describes an address, from tables, sources and this transaction.
type LabelView struct {
	Address   api.Addr `json:"address"`
	Name      string   `json:"name,omitempty"`
	Category  string   `json:"category,omitempty"`
	Protocol  string   `json:"protocol,omitempty"`
	Source    string   `json:"source,omitempty"` // of the name
	Role      string   `json:"role,omitempty"`   // in this transaction
	Contract  string   `json:"contract,omitempty"`
	Proxy     string   `json:"proxy,omitempty"`
	Lookalike []string `json:"lookalike,omitempty"` // addresses of this transaction with the same first and last digits
}

var getLabel = define(
	"get_label",
	"Who addresses are: names from tables, protocol, role in this transaction, verified contract name, and other addresses here that look alike.",
	limitLocal,
	func(_ context.Context, d *Env, in *labelInput) (any, error) {
		out := make([]LabelView, len(in.Addresses))
		for i, a := range in.Addresses {
			out[i] = d.labelView(common.Address(a))
		}
		return out, nil
	},
)

func (d *Env) labelView(a common.Address) LabelView {
	v := LabelView{Address: api.AddrOf(a)}
	if l, ok := d.Case.Evidence.LabelOf(a); ok {
		v.Name, v.Category, v.Protocol, v.Source = l.Name, l.Category, l.Protocol, l.Source
	}
	if c := d.Case.Evidence.Contracts[a]; c != nil {
		v.Contract, v.Proxy = c.Name, c.ProxyKind
	}
	own := v.Address.String()
	for i := range d.Case.Result.Addresses {
		r := &d.Case.Result.Addresses[i]
		other := r.Address.String()
		switch {
		case r.Address == v.Address:
			v.Role = r.Role
			if v.Name == "" {
				v.Name = r.Label
			}
		case len(v.Lookalike) < 5 && strings.HasPrefix(other, own[:6]) && strings.HasSuffix(other, own[38:]):
			v.Lookalike = append(v.Lookalike, other)
		}
	}
	return v
}
