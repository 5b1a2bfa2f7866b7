package tool

import (
	"context"
	"errors"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

type neighboursInput struct {
	Before *int `json:"before" min:"0" max:"20" doc:"transactions before this one; 3 when absent"`
	After  *int `json:"after"  min:"0" max:"20" doc:"transactions after it; 3 when absent"`
	Logs   bool `json:"logs"                    doc:"also read the receipts: outcome, shared emitters and their events; for at most 12 transactions"`
}

// NeighboursView is the part of the block around the transaction.
type NeighboursView struct {
	Block        uint64         `json:"block"`
	Index        uint64         `json:"index"` // of this transaction
	Count        int            `json:"count"` // transactions of the block
	Producer     Party          `json:"producer"`
	Transactions []NeighbourRow `json:"transactions"`
}

// NeighbourRow is one transaction of the block. Shared are the contracts that
// logged both in it and in this transaction.
type NeighbourRow struct {
	Index      int           `json:"index"`
	Hash       api.Hex       `json:"hash"`
	From       Party         `json:"from"`
	To         *Party        `json:"to,omitempty"` // absent: a creation
	Selector   api.Hex       `json:"selector,omitempty"`
	Function   string        `json:"function,omitempty"`
	ValueWei   string        `json:"valueWei,omitempty"`
	This       bool          `json:"this,omitzero"`
	SameSender bool          `json:"sameSender,omitzero"`
	SameTo     bool          `json:"sameTo,omitzero"`
	Status     *uint64       `json:"status,omitempty"` // with logs: 1 succeeded
	LogCount   int           `json:"logCount,omitzero"`
	Shared     []Party       `json:"shared,omitempty"`
	Events     []SharedEvent `json:"events,omitempty"` // of shared contracts, at most 12
}

// SharedEvent is a log of a contract that both transactions used.
type SharedEvent struct {
	LogIndex uint64    `json:"logIndex"`
	Emitter  api.Addr  `json:"emitter"`
	Event    string    `json:"event,omitempty"`
	Args     []api.Arg `json:"args,omitempty"`
}

const (
	maxReceipts     = 12
	maxSharedEvents = 12
)

var getNeighbours = define(
	"get_block_transactions",
	"Other transactions of the block around this one: who sent what to whom just before and after, and, with logs, what they did to the same contracts. A sandwich has both sides here.",
	limitRemote,
	func(ctx context.Context, d *Env, in *neighboursInput) (any, error) {
		n, ok := d.block()
		if !ok {
			return unavailable(noBlock)
		}
		before, after := or(in.Before, 3), or(in.After, 3)
		if in.Logs && before+after > maxReceipts {
			return nil, errors.New("with logs, before and after together are at most 12")
		}
		w, err := d.world()
		if err != nil {
			return nil, err
		}
		blk, err := w.Block(ctx, d.chain(), n, true)
		if err != nil {
			return nil, err
		}
		at := -1
		for i, tx := range blk.Transactions {
			if tx.Hash == d.tx().Hash {
				at = i
			}
		}
		if at < 0 {
			return unavailable("the node's block does not hold this transaction")
		}
		v := NeighboursView{Block: n, Index: uint64(at), Count: len(blk.Transactions), Producer: d.party(blk.Miner)}
		around := blk.Transactions[max(at-before, 0):min(at+after+1, len(blk.Transactions))]
		v.Transactions = make([]NeighbourRow, len(around))
		return v, each(len(around), func(i int) error {
			row, err := d.neighbour(ctx, around[i], max(at-before, 0)+i, in.Logs)
			v.Transactions[i] = row
			return err
		})
	},
)

func (d *Env) neighbour(ctx context.Context, tx *ethrpc.Transaction, index int, logs bool) (NeighbourRow, error) {
	own := d.tx()
	r := NeighbourRow{
		Index: index, Hash: api.Hex(tx.Hash[:]), From: d.party(tx.From), This: tx.Hash == own.Hash,
		SameSender: tx.From == own.From && tx.Hash != own.Hash, SameTo: tx.To != nil && own.To != nil && *tx.To == *own.To && tx.Hash != own.Hash,
	}
	if tx.To != nil {
		to := d.party(*tx.To)
		r.To = &to
	}
	if tx.Value.Sign() > 0 {
		r.ValueWei = tx.Value.String()
	}
	dec := decode.New(
		d.chain(),
		decode.Sources{Contracts: d.Case.Evidence.Contracts, Functions: d.Case.Evidence.Functions, Events: d.Case.Evidence.Events},
	)
	if c := dec.All(trace.FromReceipt(tx, &ethrpc.Receipt{}, true), nil).Calls[0]; c != nil {
		r.Function = c.Name
		if c.HasSelector {
			r.Selector = api.Hex(c.Selector[:])
		}
	}
	if !logs || r.This {
		return r, nil
	}
	w, err := d.world()
	if err != nil {
		return r, err
	}
	rc, err := w.Receipt(ctx, d.chain(), tx.Hash)
	if err != nil {
		return r, err
	}
	r.Status, r.LogCount = rc.Status, len(rc.Logs)
	d.shared(&r, rc, dec)
	return r, nil
}

// shared returns the events of another transaction from contracts that also logged in this
// one.
func (d *Env) shared(r *NeighbourRow, rc *ethrpc.Receipt, dec *decode.Decoder) {
	ours, listed := map[common.Address]bool{}, map[common.Address]bool{}
	for i := range d.Case.Receipt.Logs {
		ours[d.Case.Receipt.Logs[i].Address] = true
	}
	for i := range rc.Logs {
		l := &rc.Logs[i]
		if !ours[l.Address] {
			continue
		}
		if !listed[l.Address] && len(r.Shared) < maxSharedEvents {
			listed[l.Address] = true
			r.Shared = append(r.Shared, d.party(l.Address))
		}
		if len(r.Events) == maxSharedEvents {
			continue
		}
		e := SharedEvent{LogIndex: l.Index, Emitter: api.AddrOf(l.Address)}
		if known := dec.Event(nil, l.Address, l.Topics, l.Data); known != nil {
			left := argBytes / maxSharedEvents
			e.Event, e.Args = known.Name, cutArgs(known.Args, &left)
		}
		r.Events = append(r.Events, e)
	}
}
