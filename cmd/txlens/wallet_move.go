package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
	"txlens/transport/client"
)

// payAdvice returns the flag or command that helps with an error of the client.
func payAdvice(err error, f *walletFlags, server string) error {
	limit, limited := errors.AsType[*client.LimitError](err)
	said := ""
	switch {
	case err == nil:
		return nil
	case limited && limit.Limit == client.LimitDeposit:
		said = "--max-deposit allows more"
	case errors.Is(err, client.ErrNoChannel):
		said = f.command("open", server) + " opens one"
	}
	if said == "" {
		return err
	}
	return advice{fmt.Errorf("%w; %s", err, said), err}
}

type walletOpenCmd struct {
	serverURL  `embed:""`
	payerFlags `embed:""`
	walletJSON `embed:""`
}

// Run opens a channel, or shows the one that is open.
func (cmd *walletOpenCmd) Run(ctx context.Context, c console) error {
	o, err := cmd.options(cmd.Server)
	if err != nil {
		return err
	}
	said := "A channel is open already."
	o.OnMoney = func(m client.Money) {
		if m.Kind == client.MoneyOpened {
			said = "Opened a channel with a deposit of $" + mpp.FormatTokens(m.Amount) + "."
		}
	}
	return withPayer(o, func(p *client.Client) error {
		ch, err := p.Open(ctx)
		if err != nil {
			return payAdvice(err, &cmd.walletFlags, cmd.Server)
		}
		return tellMove(c.out, cmd.JSON, said, ch)
	})
}

// tellMove prints what was done with a channel, and its state.
func tellMove(w io.Writer, asJSON bool, said string, ch client.Channel) error {
	if asJSON {
		return writeLine(w, payersView(ch))
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", said); err != nil {
		return err
	}
	return showPayersChannel(w, ch)
}

type walletTopupCmd struct {
	Amount     string `arg:"" placeholder:"DOLLARS" help:"What to add, in dollars."`
	serverURL  `                                                                    embed:""`
	payerFlags `                                                                    embed:""`
	walletJSON `                                                                    embed:""`
}

// Run adds to the deposit.
func (cmd *walletTopupCmd) Run(ctx context.Context, c console) error {
	amount, err := dollars("amount", cmd.Amount)
	if err != nil {
		return err
	}
	o, err := cmd.options(cmd.Server)
	if err != nil {
		return err
	}
	return withPayer(o, func(p *client.Client) error {
		ch, err := p.TopUp(ctx, amount)
		if err != nil {
			return payAdvice(err, &cmd.walletFlags, cmd.Server)
		}
		return tellMove(c.out, cmd.JSON, "Added $"+mpp.FormatTokens(amount)+" to the deposit.", ch)
	})
}

type walletCloseCmd struct {
	serverURL   `embed:""`
	walletFlags `embed:""`
	walletJSON  `embed:""`
}

// ending is the JSON form of how a channel ended.
type ending struct {
	Channel   common.Hash  `json:"channelId"`
	Captured  tempo.Amount `json:"captured"` // by the server, in all
	Refunded  tempo.Amount `json:"refunded"`
	Confirmed bool         `json:"confirmed"` // by the chain
	TxHash    *common.Hash `json:"tx,omitzero"`
}

// Run closes all channels of the account with the server.
func (cmd *walletCloseCmd) Run(ctx context.Context, c console) error {
	o, err := cmd.options(cmd.Server)
	if err != nil {
		return err
	}
	notices := []string{}
	o.OnMoney = func(m client.Money) {
		if m.Kind == client.MoneyNotice {
			notices = append(notices, m.Text)
		}
	}
	return withPayer(o, func(p *client.Client) error {
		for n := max(len(p.Channels()), 1); n > 0; n-- {
			end, err := p.CloseChannel(ctx)
			switch {
			case errors.Is(err, client.ErrNoChannel):
				return err
			case err != nil:
				return advice{
					fmt.Errorf(
						"%w; the channel is kept: try again, or get the deposit back from the chain with %s",
						err,
						cmd.command("request-close", cmd.Server),
					),
					err,
				}
			}
			if err := tellEnd(c.out, cmd.JSON, end); err != nil {
				return err
			}
		}
		for _, text := range notices {
			fmt.Fprintln(c.err, oneLine(text))
		}
		return nil
	})
}

// tellEnd prints how a channel ended.
func tellEnd(w io.Writer, asJSON bool, end client.Refund) error {
	if asJSON {
		return writeLine(w, ending{end.Channel.ID, end.Captured, end.Refunded, end.Confirmed, known(end.TxHash)})
	}
	rows := [][]string{
		{"Channel", end.Channel.ID.Hex()}, {"Deposit", "$" + mpp.FormatTokens(end.Channel.Deposit)},
		{"Charged", "$" + mpp.FormatTokens(end.Captured)}, {"Refund", "$" + mpp.FormatTokens(end.Refunded)},
	}
	if end.Confirmed {
		rows = append(rows, []string{"Closed", end.TxHash.Hex()})
	} else {
		rows = append(rows, []string{"Closed", "says the server; the chain has not shown it yet"})
	}
	return writeTable(w, rows, "")
}

type walletRequestCmd struct {
	serverURL   `embed:""`
	walletFlags `embed:""`
	walletJSON  `embed:""`
}

// Run requests the withdrawal on the chain.
func (cmd *walletRequestCmd) Run(ctx context.Context, c console) error {
	o, err := cmd.options(cmd.Server)
	if err != nil {
		return err
	}
	return withPayer(o, func(p *client.Client) error {
		at, err := p.RequestClose(ctx)
		if err != nil {
			return err
		}
		list := p.Channels()
		if len(list) == 0 {
			return client.ErrNoChannel
		}
		if cmd.JSON {
			return writeLine(c.out, payersView(list[0]))
		}
		_, err = fmt.Fprintf(c.out, `The chain gives the deposit back from %s on:
  %s
Until then the server may take what is signed for, $%s, or close the channel itself.
`, at.UTC().Format(time.DateTime+" UTC"), cmd.command("withdraw", cmd.Server), mpp.FormatTokens(list[0].Signed))
		return err
	})
}

type walletWithdrawCmd struct {
	serverURL   `embed:""`
	walletFlags `embed:""`
	walletJSON  `embed:""`
}

// Run takes the deposit back.
func (cmd *walletWithdrawCmd) Run(ctx context.Context, c console) error {
	o, err := cmd.options(cmd.Server)
	if err != nil {
		return err
	}
	return withPayer(o, func(p *client.Client) error {
		end, err := p.Withdraw(ctx)
		if reverted, ok := errors.AsType[*settle.Reverted](err); ok && reverted.Reason == "CloseNotReady" {
			return cmd.tooEarly(p, err)
		}
		if err != nil {
			return err
		}
		return tellEnd(c.out, cmd.JSON, end)
	})
}

// tooEarly is the error that names the time from which the chain returns the deposit.
func (cmd *walletWithdrawCmd) tooEarly(p *client.Client, err error) error {
	list := p.Channels()
	said := "ask for it first with " + cmd.command("request-close", cmd.Server)
	if len(list) > 0 && !list[0].Withdrawable.IsZero() {
		said = "it gives the deposit back from " + list[0].Withdrawable.UTC().Format(time.DateTime+" UTC") + " on"
	}
	return advice{fmt.Errorf("%w; %s", err, said), err}
}

// known returns nil for the zero hash.
func known(h common.Hash) *common.Hash {
	if h == (common.Hash{}) {
		return nil
	}
	return &h
}
