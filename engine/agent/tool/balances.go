package tool

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// maxBalances bounds the number of addresses times tokens of one call.
const maxBalances = 24

type balancesInput struct {
	Addresses []Address `json:"addresses" max:"12"     doc:"whose; those that the transaction moved most when absent"`
	Tokens    []Address `json:"tokens"    max:"12"     doc:"also read these tokens' balances from the chain (the zero address is the native coin); without, only the transaction's own net movements are given"`
	Offset    int       `json:"offset"    max:"100000" doc:"addresses to pass over"                                                                                                                             min:"0"`
}

// BalancesView is the net movements and the balances of addresses.
type BalancesView struct {
	Page
	Changes []api.BalanceChange `json:"changes"` // of the transaction, net, in whole tokens and USD
	Read    []BalanceRow        `json:"read,omitempty"`
	Note    string              `json:"note,omitempty"`
}

// BalanceRow is the balance of one token, in base units, before and after the block.
type BalanceRow struct {
	Address  api.Addr `json:"address"`
	Token    api.Addr `json:"token"`
	Symbol   string   `json:"symbol,omitempty"`
	Before   string   `json:"before,omitempty"`  // end of the block before
	After    string   `json:"after,omitempty"`   // end of the block
	Amounts  string   `json:"amounts,omitempty"` // both in whole tokens
	NoAnswer string   `json:"noAnswer,omitempty"`
}

var getBalances = define(
	"get_balances",
	"Net movements of addresses in this transaction (amounts, prices, USD), and on request their balances of tokens before and after the block.",
	limitRemote,
	func(ctx context.Context, d *Env, in *balancesInput) (any, error) {
		all := d.Case.Result.BalanceChanges
		if len(in.Addresses) > 0 {
			all = nil
			for _, c := range d.Case.Result.BalanceChanges {
				for _, a := range in.Addresses {
					if api.Addr(a) == c.Address {
						all = append(all, c)
						break
					}
				}
			}
		}
		v := BalancesView{}
		v.Changes, v.Page = pageOf(len(all), in.Offset, 40, func(i int) api.BalanceChange { return shortChange(all[i]) })
		if len(in.Tokens) == 0 {
			return v, nil
		}
		n, ok := d.block()
		if !ok {
			return unavailable(noBlock)
		}
		if len(in.Addresses)*len(in.Tokens) > maxBalances || len(in.Addresses) == 0 {
			return nil, fmt.Errorf("tokens need addresses, and at most %d pairs of both", maxBalances)
		}
		var err error
		v.Read, err = d.readBalances(ctx, in, n)
		v.Note = "read: at the end of the block before and of the block itself, with what its other transactions did"
		return v, err
	},
)

// shortChange bounds the tokens listed for one address: an airdrop can have thousands.
func shortChange(c api.BalanceChange) api.BalanceChange {
	const most = 40
	if len(c.Tokens) > most {
		c.Tokens = c.Tokens[:most]
	}
	return c
}

func (d *Env) readBalances(ctx context.Context, in *balancesInput, block uint64) ([]BalanceRow, error) {
	rows := make([]BalanceRow, len(in.Addresses)*len(in.Tokens))
	err := each(len(rows), func(i int) (err error) {
		a, token := common.Address(in.Addresses[i/len(in.Tokens)]), common.Address(in.Tokens[i%len(in.Tokens)])
		rows[i], err = d.readBalance(ctx, a, token, block)
		return err
	})
	return rows, err
}

func (d *Env) readBalance(ctx context.Context, a, token common.Address, block uint64) (BalanceRow, error) {
	r := BalanceRow{Address: api.AddrOf(a), Token: api.AddrOf(token)}
	before, err := d.balanceAt(ctx, a, token, block-1)
	if err == nil {
		var after *big.Int
		if after, err = d.balanceAt(ctx, a, token, block); err == nil {
			var decimals *uint8
			r.Before, r.After = before.String(), after.String()
			if r.Symbol, decimals = d.symbol(token); decimals != nil {
				r.Amounts = flow.Amount(before, *decimals) + " to " + flow.Amount(after, *decimals)
			}
			return r, nil
		}
	}
	if errors.Is(err, errNoNumber) || errors.Is(err, upstream.ErrReverted) {
		r.NoAnswer = "the contract does not answer balanceOf with a number at both blocks"
		return r, nil
	}
	return r, err
}

// errNoNumber: the answer of a contract is not exactly one word.
var errNoNumber = errors.New("the answer is no number")

func (d *Env) balanceAt(ctx context.Context, a, token common.Address, block uint64) (*big.Int, error) {
	w, err := d.world()
	if err != nil {
		return nil, err
	}
	if token == (common.Address{}) {
		return w.Balance(ctx, d.chain(), a, block)
	}
	out, err := w.Call(ctx, d.chain(), token, append(evmsig.SelBalanceOf[:], common.LeftPadBytes(a[:], 32)...), block)
	return number(out, err)
}

// number decodes one word.
func number(out []byte, err error) (*big.Int, error) {
	if err != nil {
		return nil, err
	}
	n := evmsig.Uint(out, 0)
	if n == nil {
		return nil, errNoNumber
	}
	return n, nil
}

// decimal formats a number that may be nil.
func decimal(n *big.Int) string {
	if n == nil {
		return "0"
	}
	return n.String()
}
