package tool

import (
	"context"
	"errors"
	"fmt"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/gather"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

type accountInput struct {
	Address Address `json:"address" need:"" doc:"the account"`
}

// AccountView describes an account.
type AccountView struct {
	Address        api.Addr   `json:"address"`
	Kind           string     `json:"kind"` // externally owned, delegated, contract, precompile or none
	CodeBytes      int        `json:"codeBytes"`
	CodeHash       api.Hex    `json:"codeHash,omitempty"`
	Delegate       *api.Addr  `json:"delegate,omitempty"`    // of an EIP-7702 account
	CreatedHere    string     `json:"createdHere,omitempty"` // frame that created it
	Name           string     `json:"name,omitempty"`        // verified contract name
	Verified       *bool      `json:"verified,omitempty"`
	ProxyKind      string     `json:"proxyKind,omitempty"`
	Implementation []api.Addr `json:"implementation,omitempty"` // when the transaction began; the last one runs
	UpgradedTo     *api.Addr  `json:"upgradedTo,omitempty"`     // the implementation that the transaction set
	ProxyDoubt     string     `json:"proxyDoubt,omitempty"`
	NonceBefore    *uint64    `json:"nonceBefore,omitempty"`   // end of the block before
	BalanceBefore  string     `json:"balanceBefore,omitempty"` // wei
	Age            string     `json:"age,omitempty"`
	Missing        []string   `json:"missing,omitempty"`
}

var getAccount = define(
	"get_account",
	"What stands at an address: code or none, its size and hash, proxy and implementation at the block, verified or not, nonce and balance before, and about how old it is.",
	limitRemote,
	func(ctx context.Context, d *Env, in *accountInput) (any, error) {
		n, ok := d.block()
		if !ok {
			return unavailable(noBlock)
		}
		w, err := d.world()
		if err != nil {
			return nil, err
		}
		a := common.Address(in.Address)
		code, err := w.Code(ctx, d.chain(), a, n)
		if err != nil {
			return nil, err
		}
		v := &AccountView{Address: api.AddrOf(a), CodeBytes: len(code), Kind: "externally owned or none"}
		if len(code) > 0 {
			v.Kind, v.CodeHash = "contract", crypto.Keccak256(code)
		}
		if delegate, ok := types.ParseDelegation(code); ok {
			to := api.AddrOf(delegate)
			v.Kind, v.Delegate = "delegated (EIP-7702)", &to
		}
		d.createdHere(v, a)
		steps := []func() error{
			func() error { return d.before(ctx, w, v, a, n-1) },
			func() error { return d.age(ctx, w, v, a, n, len(code) > 0) },
			func() error { return d.proxy(ctx, w, v, a, n) },
		}
		for _, step := range steps {
			if err := step(); err != nil && ctx.Err() == nil {
				v.Missing = append(v.Missing, missing(ctx, err))
			}
		}
		return v, nil
	},
)

// missing describes what could not be read.
func missing(ctx context.Context, err error) string {
	answer, err := fault(ctx, err)
	if u, ok := answer.(Unavailable); ok {
		return u.Unavailable
	}
	return fmt.Sprint(err)
}

func (d *Env) createdHere(v *AccountView, a common.Address) {
	for i := range d.Case.Result.PrettyTrace {
		n := &d.Case.Result.PrettyTrace[i]
		if (n.Type == "CREATE" || n.Type == "CREATE2") && n.To != nil && common.Address(*n.To) == a {
			v.CreatedHere = n.Path
			return
		}
	}
}

func (d *Env) before(ctx context.Context, w gather.World, v *AccountView, a common.Address, block uint64) error {
	nonce, err := w.Nonce(ctx, d.chain(), a, block)
	if err != nil {
		return fmt.Errorf("read nonce: %w", err)
	}
	balance, err := w.Balance(ctx, d.chain(), a, block)
	if err != nil {
		return fmt.Errorf("read balance: %w", err)
	}
	v.NonceBefore, v.BalanceBefore = &nonce, balance.String()
	return nil
}

// proxy finds the implementation that a contract ran, and whether its source is verified.
func (d *Env) proxy(ctx context.Context, w gather.World, v *AccountView, a common.Address, block uint64) error {
	if v.Kind != "contract" {
		return nil
	}
	m := decode.TxState{After: probe{w, d, block}, Tree: d.Case.Tree, Diff: d.Case.Evidence.Diff, Receipt: d.Case.Receipt}
	if block > 0 {
		m.Before = probe{w, d, block - 1}
	}
	p, err := decode.Implementation(ctx, m, a)
	if p != nil {
		v.ProxyKind, v.ProxyDoubt = p.Kind, p.Doubt
		for _, i := range p.Behind {
			v.Implementation = append(v.Implementation, api.AddrOf(i))
		}
		if p.Upgraded != nil {
			to := api.AddrOf(*p.Upgraded)
			v.UpgradedTo = &to
		}
	}
	c, cerr := d.contract(ctx, a)
	if cerr == nil {
		verified := c != nil && c.ABI != nil
		v.Verified = &verified
		if c != nil {
			v.Name = c.Name
		}
	}
	return errors.Join(err, cerr)
}

// probe is a decode.Prober at a block.
type probe struct {
	w     gather.World
	d     *Env
	block uint64
}

func (p probe) Code(ctx context.Context, a common.Address) ([]byte, error) {
	return p.w.Code(ctx, p.d.chain(), a, p.block)
}

func (p probe) Storage(ctx context.Context, a common.Address, slot common.Hash) (common.Hash, error) {
	return p.w.Storage(ctx, p.d.chain(), a, slot, p.block)
}

func (p probe) Call(ctx context.Context, to common.Address, data []byte) ([]byte, error) {
	return p.w.Call(ctx, p.d.chain(), to, data, p.block)
}

// ages are the block distances probed for the age of an account: a day, a week, a month, a
// year.
var ages = []struct {
	seconds uint64
	words   string
}{{0, "the block before"}, {86_400, "1 day"}, {7 * 86_400, "7 days"}, {30 * 86_400, "30 days"}, {365 * 86_400, "1 year"}}

// spacing is the number of blocks over which the block time is measured.
const spacing = 5000

// age estimates the age of an account: it reads code or nonce at some earlier blocks. The
// account was created between two of them.
func (d *Env) age(ctx context.Context, w gather.World, v *AccountView, a common.Address, n uint64, contract bool) error {
	if v.CreatedHere != "" {
		v.Age = "created by this transaction"
		return nil
	}
	blk := d.Case.Evidence.Block
	if blk == nil || n <= spacing {
		return errors.New("age: the time between blocks is not known")
	}
	old, err := w.Block(ctx, d.chain(), n-spacing, false)
	if err != nil {
		return fmt.Errorf("age: %w", err)
	}
	took := max(blk.Timestamp-min(old.Timestamp, blk.Timestamp), 1)
	what, younger := map[bool]string{true: "code", false: "a first transaction"}[contract], "at this block"
	for _, age := range ages {
		back := max(age.seconds*spacing/took, 1)
		if back >= n {
			break // the chain is younger
		}
		there, err := d.there(ctx, w, a, n-back, contract)
		if err != nil {
			v.Age = fmt.Sprintf("%s there %s; earlier is not known", what, younger)
			return fmt.Errorf("age: %w", err)
		}
		if !there {
			v.Age = fmt.Sprintf("%s there %s, not yet %s", what, younger, about(age.seconds, age.words, n-back))
			return nil
		}
		younger = about(age.seconds, age.words, n-back)
	}
	v.Age = fmt.Sprintf("%s there already %s", what, younger)
	return nil
}

func about(seconds uint64, words string, block uint64) string {
	if seconds == 0 {
		return fmt.Sprintf("at the block before (%d)", block)
	}
	return fmt.Sprintf("about %s earlier (block %d)", words, block)
}

func (d *Env) there(ctx context.Context, w gather.World, a common.Address, block uint64, contract bool) (bool, error) {
	if contract {
		code, err := w.Code(ctx, d.chain(), a, block)
		return len(code) > 0, err
	}
	nonce, err := w.Nonce(ctx, d.chain(), a, block)
	return nonce > 0, err
}
