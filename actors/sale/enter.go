package sale

import (
	"context"

	"txlens/actors/channel"
	"txlens/actors/slots"
)

// Entrance is what Enter needs to know of the server that a request came to, and does there.
type Entrance interface {
	// Slot takes a slot for an analysis.
	Slot(ctx context.Context) (*slots.Slot, error)
	// Begun reports whether a run streams or has a record.
	Begun(id string) bool
	// Open adds a run to those that stream, and reports false where it is one of them.
	Open(id string) bool
	// Close takes a run from those that stream.
	Close(id string)
}

// Enter returns the run that an admitted request begins, and the slot that it holds. slot
// is the one that was taken before the request was admitted, nil where none was.
//
// The run is nil where an earlier request began it and it streams, has a record, or the
// rest of its price is being collected: the client gets what there is of it. A run that
// was interrupted before its record was written begins again, and what was paid for it
// counts. An error is that of the slot for it.
func (s *Seller) Enter(
	ctx context.Context, p *channel.Payment, a channel.Admitted, slot *slots.Slot, e Entrance,
) (*Run, *slots.Slot, error) {
	bill := channel.Bill{ID: a.Bill, Payer: p.Payer, Channel: p.Channel, Collected: a.Charged}
	if !a.Fresh {
		var err error
		if bill, _, err = s.Outstanding(a.Bill); err != nil || e.Begun(a.Bill) {
			slot.Release()
			return nil, nil, nil
		}
		bill.Payer, bill.Channel = p.Payer, p.Channel
		if slot == nil {
			if slot, err = e.Slot(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	if e.Open(a.Bill) {
		if run, fresh := s.Begin(bill, slot); fresh {
			return run, slot, nil
		}
		e.Close(a.Bill)
	}
	slot.Release()
	return nil, nil, nil
}
