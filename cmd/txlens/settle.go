package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
	"txlens/transport/admin"
)

type settleCmd struct {
	Channels []string `arg:"" optional:"" placeholder:"CHANNEL" help:"Channels to pay out, by id or the beginning of one; without any, all."`
	Close    bool     `                                         help:"End the channels named: exactly what was served is paid out, the rest goes back to the payer." name:"close"`
	JSON     bool     `                                         help:"One line of JSON for each channel; amounts in base units."                                     name:"json"`

	serverFlag `embed:""`
}

// settlePatience is the time limit of one request. If the chain refuses several channels
// together, the server tries each alone and waits up to a minute for each receipt.
const settlePatience = 20 * time.Minute

// Run settles the channels page by page and prints what was broadcast and what was not.
func (cmd *settleCmd) Run(ctx context.Context, c console) error {
	at, err := cmd.base()
	if err != nil {
		return err
	}
	q, err := cmd.request(ctx, at)
	if err != nil {
		return err
	}
	sum := settlement{named: len(q.Channels) > 0, closing: cmd.Close, txs: map[common.Hash]bool{}}
	for {
		var report admin.SettleReport
		if err := readAdmin(ctx, at, question{path: "/settle", body: q, head: settlePatience}, &report); err != nil {
			return err
		}
		for _, p := range report.Payouts {
			if err := sum.add(c.out, p, cmd.JSON); err != nil {
				return err
			}
		}
		if report.Next == nil {
			break
		}
		q.From = *report.Next
	}
	return sum.conclude(c.out, cmd.JSON)
}

// request resolves the channels that the arguments name.
func (cmd *settleCmd) request(ctx context.Context, at app.AdminAccess) (q admin.SettleRequest, err error) {
	if cmd.Close && len(cmd.Channels) == 0 {
		return q, settings.InputError{Err: errors.New("--close: name the channels that are to end")}
	}
	if len(cmd.Channels) > admin.MaxSettle {
		return q, settings.InputError{Err: fmt.Errorf("at most %d channels can be named at a time", admin.MaxSettle)}
	}
	q.Close = cmd.Close
	for _, text := range cmd.Channels {
		ch, err := findChannel(ctx, at, text)
		if err != nil {
			return q, err
		}
		q.Channels = append(q.Channels, ch.ID)
	}
	return q, nil
}

// settlement is the sum of all payouts.
type settlement struct {
	named, closing      bool
	paid, left          tempo.Amount
	done, failed, owing int
	txs                 map[common.Hash]bool
}

// add prints one payout. A channel that the arguments do not name and that has nothing to
// settle is not printed.
func (s *settlement) add(w io.Writer, p admin.Payout, asJSON bool) error {
	sent := p.Tx != nil && p.Error == ""
	if sent {
		s.done++
		s.paid = plus(s.paid, p.Paid)
		s.txs[*p.Tx] = true
	}
	if !p.Left.IsZero() {
		s.owing++
		s.left = plus(s.left, p.Left)
	}
	if p.Error != "" || s.named && !sent && !p.Left.IsZero() {
		s.failed++
	}
	if !s.named && !sent && p.Left.IsZero() && p.Error == "" {
		return nil
	}
	if asJSON {
		return writeLine(w, p)
	}
	_, err := fmt.Fprintf(w, "%s  %s\n", shortID(p.ID), s.said(p, sent))
	return err
}

// said formats one payout.
func (s *settlement) said(p admin.Payout, sent bool) string {
	paid, left := mpp.FormatTokens(p.Paid), mpp.FormatTokens(p.Left)
	switch {
	case p.Pending && p.Tx != nil:
		return fmt.Sprintf("sent %s, and its outcome is not known yet; the server finds out by itself\n            %s", paid, p.Tx.Hex())
	case p.Error != "":
		return fmt.Sprintf("not paid out, %s left: %s", left, p.Error)
	case sent && s.closing && p.Paid.IsZero():
		return "closed; all that was served had been paid out, the rest is refunded\n            " + p.Tx.Hex()
	case sent && s.closing:
		return fmt.Sprintf("closed, %s paid out and the rest refunded\n            %s", paid, p.Tx.Hex())
	case sent && !p.Left.IsZero():
		return fmt.Sprintf("%s paid out; %s\n            %s", paid, obstacle(p), p.Tx.Hex())
	case sent:
		return fmt.Sprintf("%s paid out\n            %s", paid, p.Tx.Hex())
	case p.Obstacle == string(session.Ended):
		return "nothing to do: it is closed"
	case p.Left.IsZero():
		return "nothing to do: all that was served is paid out"
	}
	return "not paid out: " + obstacle(p)
}

// obstacle formats why an amount is left and how it can be settled.
func obstacle(p admin.Payout) string {
	left := mpp.FormatTokens(p.Left)
	switch p.Obstacle {
	case string(session.VoucherAbove):
		return fmt.Sprintf(
			"for %s there is only a voucher above what was served, of which settling would take all;\n            txlens settle --close %s takes just that, and ends the channel",
			left,
			shortID(p.ID),
		)
	case string(session.NotOpen):
		return left + " is left: the chain has not shown the channel yet"
	case string(session.BeingClosed):
		return left + " is on its way: the channel is being closed"
	}
	return left + " is left"
}

// conclude prints the totals. A named channel that was not settled is an error.
func (s *settlement) conclude(w io.Writer, asJSON bool) error {
	if !asJSON {
		text := "Nothing was sent."
		if s.done > 0 {
			text = fmt.Sprintf(
				"%s paid out on %s in %s.",
				mpp.FormatTokens(s.paid),
				api.Count(s.done, "channel"),
				api.Count(len(s.txs), "transaction"),
			)
			if s.closing {
				text = fmt.Sprintf("%s closed, %s paid out.", api.Count(s.done, "channel"), mpp.FormatTokens(s.paid))
			}
		}
		if s.owing > 0 {
			text += fmt.Sprintf(" %s left on %s.", mpp.FormatTokens(s.left), api.Count(s.owing, "channel"))
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	if s.failed > 0 {
		return fmt.Errorf("%s could not be paid out", api.Count(s.failed, "channel"))
	}
	return nil
}
