package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/transport/client"
)

// walletCmd has the steps of a payer one by one, which explain --server does by itself.
type walletCmd struct {
	New          walletNewCmd      `cmd:"" help:"Make a key, and so an account."`
	Balance      walletBalanceCmd  `cmd:"" help:"Ask the settlement chain what the account has."`
	Channels     walletChannelsCmd `cmd:"" help:"List the open channels of this machine."`
	Open         walletOpenCmd     `cmd:"" help:"Open a channel ahead of the first analysis."`
	Topup        walletTopupCmd    `cmd:"" help:"Add to the deposit of a channel."`
	Close        walletCloseCmd    `cmd:"" help:"Have the server close its channels and get back what is left."`
	RequestClose walletRequestCmd  `cmd:"" help:"Ask the chain to give the deposit back, where the server does not answer."`
	Withdraw     walletWithdrawCmd `cmd:"" help:"Take the deposit back, after request-close and its grace period."`
}

// walletJSON is the flag for JSON output of the commands of the wallet.
type walletJSON struct {
	JSON bool `name:"json" help:"One line of JSON for each account or channel; amounts in base units."`
}

// serverURL is the server that is paid.
type serverURL struct {
	Server string `name:"server" required:"" placeholder:"URL" env:"TXLENS_SERVER" help:"Server that is paid."`
}

type walletNewCmd struct {
	keyFlag    `embed:""`
	walletJSON `embed:""`
}

// Run writes a new key into a new file.
func (cmd *walletNewCmd) Run(c console) error {
	if cmd.KeyFile == "" {
		return settings.InputError{Err: errors.New("--key-file: name the file for the key")}
	}
	key, err := client.NewKey(cmd.KeyFile)
	if err != nil {
		return settings.InputError{Err: err}
	}
	if cmd.JSON {
		return writeLine(c.out, struct {
			Account common.Address `json:"account"`
			KeyFile string         `json:"keyFile"`
		}{key.Address(), cmd.KeyFile})
	}
	_, err = fmt.Fprintf(c.out, `Account  %s
Key      %s

Whoever has the file has the account's money: keep a copy where nobody else can
read it. Send dollars to the account, then buy with
  txlens explain HASH --server URL --key-file %[2]s
`, key.Address().Hex(), cmd.KeyFile)
	return err
}

type walletBalanceCmd struct {
	Account    string `name:"account" placeholder:"ADDRESS" help:"Ask for this account; default that of the key."`
	keyFlag    `                                                                                                  embed:""`
	dirFlag    `                                                                                                  embed:""`
	chainFlags `                                                                                                  embed:""`
	walletJSON `                                                                                                  embed:""`
}

// balanceOf is the balance of an account and the part of it in channels.
type balanceOf struct {
	Account   common.Address `json:"account"`
	ChainID   uint64         `json:"chainId"`
	Balance   tempo.Amount   `json:"balance"`   // outside of channels
	Channels  int            `json:"channels"`  // in the channel files of this machine
	Deposited tempo.Amount   `json:"deposited"` // in them
	Signed    tempo.Amount   `json:"signed"`    // the most that their servers can take
}

// Run asks the chain for the balance and adds the totals of the channel files of this
// machine.
func (cmd *walletBalanceCmd) Run(ctx context.Context, c console) error {
	b := balanceOf{ChainID: cmd.SettleChain}
	var err error
	if b.Account, err = cmd.account(); err != nil {
		return err
	}
	ch, err := cmd.chain()
	if err != nil {
		return err
	}
	dir, err := cmd.dir()
	if err != nil {
		return err
	}
	list, err := client.Channels(dir)
	if err != nil {
		return err
	}
	for _, ch := range list {
		if ch.Account == b.Account && ch.ChainID == b.ChainID {
			b.Channels++
			b.Deposited, b.Signed = plus(b.Deposited, ch.Deposit), plus(b.Signed, ch.Signed)
		}
	}
	if b.Balance, err = ch.Balance(ctx, b.Account); err != nil {
		return err
	}
	if cmd.JSON {
		return writeLine(c.out, b)
	}
	rows := [][]string{{"Account", b.Account.Hex()}, {"Balance", fmt.Sprintf("$%s on chain %d", mpp.FormatTokens(b.Balance), b.ChainID)}}
	if b.Channels > 0 {
		rows = append(
			rows,
			[]string{
				"In escrow",
				fmt.Sprintf(
					"$%s in %s, of which $%s are signed for",
					mpp.FormatTokens(b.Deposited),
					api.Count(b.Channels, "channel"),
					mpp.FormatTokens(b.Signed),
				),
			},
		)
	}
	return writeTable(c.out, rows, "")
}

func (cmd *walletBalanceCmd) account() (common.Address, error) {
	switch {
	case cmd.Account != "" && !common.IsHexAddress(cmd.Account):
		return common.Address{}, settings.InputError{Err: errors.New("--account: no address")}
	case cmd.Account != "":
		return common.HexToAddress(cmd.Account), nil
	case cmd.KeyFile == "":
		return common.Address{}, settings.InputError{Err: errors.New("--key-file: name the key, or the account with --account")}
	}
	key, err := client.ReadKey(cmd.KeyFile)
	if err != nil {
		return common.Address{}, settings.InputError{Err: err}
	}
	return key.Address(), nil
}

type walletChannelsCmd struct {
	Refresh     bool `name:"refresh" help:"Ask the settlement chain about those of the key's account first."`
	walletFlags `                                                                                            embed:""`
	walletJSON  `                                                                                            embed:""`
}

// Run lists the channels of the channel files.
func (cmd *walletChannelsCmd) Run(ctx context.Context, c console) error {
	dir, err := cmd.dir()
	if err != nil {
		return err
	}
	if cmd.Refresh {
		if err := cmd.refresh(ctx, dir); err != nil {
			return err
		}
	}
	list, bad := client.Channels(dir) // the readable ones are listed in any case
	if cmd.JSON {
		for _, ch := range list {
			if err := writeLine(c.out, payersView(ch)); err != nil {
				return err
			}
		}
		return bad
	}
	if len(list) == 0 && bad == nil {
		_, err := fmt.Fprintln(c.out, "No channel is open.")
		return err
	}
	rows := [][]string{{"SERVER", "ACCOUNT", "CHANNEL", "STATE", "DEPOSIT", "SIGNED", "SPENT", "OPENED"}}
	now := time.Now()
	for _, ch := range list {
		rows = append(rows, []string{oneLine(ch.Server), api.AddrOf(ch.Account).Short(), shortID(ch.ID), withdrawal(ch),
			mpp.FormatTokens(ch.Deposit), mpp.FormatTokens(ch.Signed), mpp.FormatTokens(ch.Spent), ago(now, ch.OpenedAt)})
	}
	return errors.Join(writeTable(c.out, rows, "    rrr"), bad)
}

// refresh asks the chain about the channels of the key's account with every server.
func (cmd *walletChannelsCmd) refresh(ctx context.Context, dir string) error {
	list, err := client.Channels(dir)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, ch := range list {
		o, err := cmd.options(ch.Server)
		if err != nil {
			return err
		}
		if done[ch.Server] || ch.Account != o.Key.Address() || ch.ChainID != cmd.SettleChain {
			continue
		}
		done[ch.Server] = true
		if err := withPayer(o, func(p *client.Client) error { _, err := p.Refresh(ctx); return err }); err != nil {
			return fmt.Errorf("%s: %w", ch.Server, err)
		}
	}
	return nil
}

// withPayer makes a client for one use.
func withPayer(o client.Options, use func(*client.Client) error) (err error) {
	p, err := clientFor(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return use(p)
}

// withdrawal is the state of a channel and the time from which the chain returns its
// deposit.
func withdrawal(ch client.Channel) string {
	if ch.Withdrawable.IsZero() {
		return string(ch.State)
	}
	return fmt.Sprintf("%s, withdraw from %s", ch.State, ch.Withdrawable.UTC().Format("15:04:05 UTC"))
}

// payersChannel is the JSON form of a channel.
type payersChannel struct {
	Server       string         `json:"server"`
	Account      common.Address `json:"account"`
	ID           common.Hash    `json:"channelId"`
	ChainID      uint64         `json:"chainId"`
	Token        common.Address `json:"token"`
	Payee        common.Address `json:"payee"`
	State        string         `json:"state"` // opening, open or closing
	Deposit      tempo.Amount   `json:"deposit"`
	Signed       tempo.Amount   `json:"signed"`
	Spent        tempo.Amount   `json:"spent"`
	OpenedAt     time.Time      `json:"openedAt"`
	Withdrawable *time.Time     `json:"withdrawableAt,omitzero"`
}

func payersView(ch client.Channel) payersChannel {
	v := payersChannel{
		Server: ch.Server, Account: ch.Account, ID: ch.ID, ChainID: ch.ChainID, Token: ch.Token, Payee: ch.Payee, State: string(ch.State),
		Deposit: ch.Deposit, Signed: ch.Signed, Spent: ch.Spent, OpenedAt: ch.OpenedAt.UTC(),
	}
	if !ch.Withdrawable.IsZero() {
		v.Withdrawable = new(ch.Withdrawable.UTC())
	}
	return v
}

// showPayersChannel writes one channel for a person.
func showPayersChannel(w io.Writer, ch client.Channel) error {
	left, _ := ch.Deposit.Sub(ch.Signed)
	return writeTable(w, [][]string{
		{"Channel", ch.ID.Hex()}, {"Server", oneLine(ch.Server)}, {"Payee", ch.Payee.Hex()}, {"State", withdrawal(ch)},
		{"Deposit", "$" + mpp.FormatTokens(ch.Deposit)}, {"Signed", "$" + mpp.FormatTokens(ch.Signed) + ", the most that the server can take"},
		{"Spent", "$" + mpp.FormatTokens(ch.Spent)}, {"Left", "$" + mpp.FormatTokens(left)},
	}, "")
}
