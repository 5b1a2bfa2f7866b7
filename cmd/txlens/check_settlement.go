package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/app/settings"
	"txlens/engine/mpp"
	"txlens/engine/mpp/settle"
)

// checkTime is the time limit of the requests of --check to the settlement chain.
const checkTime = 10 * time.Second

// checkSettlement asks the settlement chain for its id, its time, and the balance of the
// settling key for fees. The error is a setting that is wrong; what an operator should
// look into is printed as a line that begins with "warning".
func checkSettlement(ctx context.Context, f *settings.Sale, w io.Writer) error {
	if !f.Sells() {
		return nil
	}
	o, err := f.Options()
	if err != nil {
		return err
	}
	chain, err := o.SettlementChain()
	if err != nil {
		return settings.FlagError(err)
	}
	defer chain.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := chain.CheckChain(ctx); errors.Is(err, settle.ErrWrongChain) {
		return settings.InputError{Err: fmt.Errorf("--settle-rpc: %w", err)}
	}
	h, err := chain.Health(ctx)
	if err != nil {
		_, err = fmt.Fprintf(w, "warning: settlement: no endpoint of the settlement chain answers: %s\n", oneLine(err.Error()))
		return err
	}
	fmt.Fprintf(
		w,
		"settlement: chain %d answers; the clock is %s ahead of its block %d\n",
		f.SettleChain,
		h.Drift.Round(time.Second),
		h.Head.Number,
	)
	if h.Key != (common.Address{}) {
		fmt.Fprintf(
			w,
			"settlement: key %s has %s for fees; closing a channel costs about %s\n",
			h.Key,
			mpp.FormatTokens(h.Gas),
			mpp.FormatTokens(h.Fee),
		)
	}
	for _, fault := range channel.HealthFaults(h) {
		fmt.Fprintf(w, "warning: settlement: %s\n", fault)
	}
	return nil
}
