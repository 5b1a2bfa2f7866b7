package tool

import (
	"context"
	"fmt"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/statediff"

	"github.com/ethereum/go-ethereum/common"
)

type storageInput struct {
	Address Address `json:"address" need:"" doc:"the contract"`
	Slots   []Word  `json:"slots"   need:"" doc:"storage slots" max:"20"`
}

// StorageView are slots before and after the transaction.
type StorageView struct {
	Address api.Addr   `json:"address"`
	Slots   []SlotView `json:"slots"`
	Note    string     `json:"note,omitempty"`
}

// SlotView is one slot. If From is state diff, Before and After are the values just before
// and after the transaction, else those at the ends of the blocks.
type SlotView struct {
	Slot   api.Hex `json:"slot"`
	Before api.Hex `json:"before"`
	After  api.Hex `json:"after"`
	From   string  `json:"from"` // state diff, or blocks
}

var getStorage = define(
	"get_storage",
	"Storage slots of a contract before and after the transaction: exact where the state diff has them, else at the end of the block before and of the block itself.",
	limitRemote,
	func(ctx context.Context, d *Env, in *storageInput) (any, error) {
		n, ok := d.block()
		if !ok {
			return unavailable(noBlock)
		}
		a := common.Address(in.Address)
		v := StorageView{
			Address: api.AddrOf(a),
			Slots:   make([]SlotView, len(in.Slots)),
			Note:    "blocks: the end of the block before, and of the block itself, with what its other transactions did",
		}
		err := each(len(in.Slots), func(i int) (err error) {
			v.Slots[i], err = d.slot(ctx, a, common.Hash(in.Slots[i]), n)
			return err
		})
		return v, err
	},
)

// slot reads the state diff first, because it is exact for this transaction.
func (d *Env) slot(ctx context.Context, a common.Address, slot common.Hash, block uint64) (SlotView, error) {
	v := SlotView{Slot: api.Hex(slot[:])}
	if pre, post, ok := changedSlot(d.Case.Evidence.Diff, a, slot); ok {
		v.Before, v.After, v.From = api.Hex(pre[:]), api.Hex(post[:]), "state diff"
		return v, nil
	}
	w, err := d.world()
	if err != nil {
		return v, err
	}
	before, err := w.Storage(ctx, d.chain(), a, slot, block-1)
	if err != nil {
		return v, err
	}
	after, err := w.Storage(ctx, d.chain(), a, slot, block)
	v.Before, v.After, v.From = api.Hex(before[:]), api.Hex(after[:]), "blocks"
	return v, err
}

// changedSlot returns a slot of a state diff. A slot that only one side has was zero on the
// other.
func changedSlot(diff *ethrpc.StateDiff, a common.Address, slot common.Hash) (pre, post common.Hash, ok bool) {
	if diff == nil {
		return pre, post, false
	}
	var in, out bool
	if acc := diff.Pre[a]; acc != nil {
		pre, in = acc.Storage[slot]
	}
	if acc := diff.Post[a]; acc != nil {
		post, out = acc.Storage[slot]
	}
	return pre, post, in || out
}

// each calls f concurrently, a few at a time, and returns the error of the lowest index.
func each(n int, f func(int) error) error {
	const lanes = 6
	errs := make([]error, n)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	done := make(chan struct{})
	for range min(lanes, n) {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range next {
				errs[i] = safely(func() error { return f(i) })
			}
		}()
	}
	for range min(lanes, n) {
		<-done
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// safely turns a panic into an error, because no caller could recover in this goroutine.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal fault: %v", p)
		}
	}()
	return f()
}

type diffInput struct {
	Address *Address `json:"address" doc:"one account alone"`
	Offset  int      `json:"offset"  doc:"rows to pass over"            min:"0" max:"1000000"`
	Limit   *int     `json:"limit"   doc:"rows at most; 60 when absent" min:"1" max:"150"`
}

// DiffView is a page of what the transaction changed.
type DiffView struct {
	Page
	Changes []DiffRow `json:"changes"`
}

// DiffRow is one change. Balances are decimal wei, nonces decimal, slots and values hex.
type DiffRow struct {
	Account Party   `json:"account"`
	What    string  `json:"what"` // balance, nonce, code, slot
	Slot    api.Hex `json:"slot,omitempty"`
	Before  string  `json:"before"`
	After   string  `json:"after"`
}

var getStateDiff = define(
	"get_state_diff",
	"What the transaction changed in the state: balances, nonces, code and storage slots, before and after, by account.",
	limitLocal,
	func(_ context.Context, d *Env, in *diffInput) (any, error) {
		diff := d.Case.Evidence.Diff
		if diff == nil {
			return unavailable("the node gave no state diff: get_storage and get_balances compare the ends of the blocks")
		}
		rows := d.diffRows(diff, in.Address)
		v := DiffView{}
		v.Changes, v.Page = pageOf(len(rows), in.Offset, or(in.Limit, 60), func(i int) DiffRow { return rows[i] })
		return v, nil
	},
)

func (d *Env) diffRows(diff *ethrpc.StateDiff, only *Address) (rows []DiffRow) {
	changes := statediff.Changes(diff)
	for i := range changes {
		if c := &changes[i]; only == nil || addressOf(only) == c.Address {
			rows = append(rows, d.diffRow(c))
		}
	}
	return rows
}

func (d *Env) diffRow(c *statediff.Change) DiffRow {
	r := DiffRow{Account: d.party(c.Address)}
	switch c.Kind {
	case statediff.Balance:
		r.What, r.Before, r.After = "balance", decimal(c.BalanceBefore), decimal(c.BalanceAfter)
	case statediff.Nonce:
		r.What, r.Before, r.After = "nonce", fmt.Sprint(c.NonceBefore), fmt.Sprint(c.NonceAfter)
	case statediff.Code:
		r.What, r.Before, r.After = "code", fmt.Sprintf("%d bytes", len(c.CodeBefore)), fmt.Sprintf("%d bytes", len(c.CodeAfter))
	default:
		r.What, r.Slot, r.Before, r.After = "slot", api.Hex(c.Slot[:]), c.WordBefore.Hex(), c.WordAfter.Hex()
	}
	return r
}
