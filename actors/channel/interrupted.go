package channel

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/recordid"
	"txlens/engine/mpp/tempo"
)

// billPage is the number of bills that are read at a time.
const billPage = 500

// eachOpenBill calls visit with the bills after an id that are not final and whose runs are not
// in progress, oldest first, until visit returns false.
func (c *Channels) eachOpenBill(from string, visit func(Bill) (more bool, err error)) error {
	for {
		list, err := c.options.Store.BillsAfter(from, billPage)
		if err != nil {
			return err
		}
		for _, b := range list {
			if b.Final || c.options.InProgress != nil && c.options.InProgress(b.ID) {
				continue
			}
			if more, err := visit(b); !more || err != nil {
				return err
			}
		}
		if len(list) < billPage {
			return nil
		}
		from = list[len(list)-1].ID
	}
}

// endInterrupted makes the bills of interrupted runs final that can no longer be joined: nothing
// was delivered, so they cost nothing, and what was collected becomes credit of their channel.
func (c *Channels) endInterrupted(ctx context.Context, from string) error {
	var errs []error
	err := c.eachOpenBill(from, func(b Bill) (bool, error) {
		if c.age(b.ID) < continueFor {
			return false, nil
		}
		_, err := c.Final(ctx, b.ID, tempo.Amount{})
		errs = append(errs, err)
		return ctx.Err() == nil, nil
	})
	return errors.Join(append(errs, err)...)
}

// creditInterrupted does the same before a channel is closed, for its runs that an earlier
// process began and that could still be joined.
func (c *Channels) creditInterrupted(ctx context.Context, id common.Hash) error {
	return c.eachOpenBill(recordid.Before(c.options.now().Add(-continueFor-time.Minute)), func(b Bill) (bool, error) {
		began, _ := recordid.TimeOf(b.ID)
		if !began.Before(c.began) {
			return false, nil
		}
		if b.Channel != id {
			return true, nil
		}
		_, err := c.Final(ctx, b.ID, tempo.Amount{})
		return true, err
	})
}
