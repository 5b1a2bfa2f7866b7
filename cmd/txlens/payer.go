package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"txlens/app/settings"
	"txlens/transport/client"
)

// keyFlag names the key that pays.
type keyFlag struct {
	KeyFile string `name:"key-file" placeholder:"FILE" type:"path" env:"TXLENS_KEY_FILE" help:"File with the secp256k1 key, in hex, of the account that pays; only its owner may read it."`
}

// dirFlag is the folder of the channels of a payer.
type dirFlag struct {
	WalletDir string `name:"wallet-dir" placeholder:"DIR" type:"path" env:"TXLENS_WALLET_DIR" help:"Folder of the open channels; default txlens/wallet in the user's configuration folder."`
}

// dir returns the folder of the channels.
func (f dirFlag) dir() (string, error) {
	if f.WalletDir != "" {
		return f.WalletDir, nil
	}
	return client.DefaultDir()
}

// chainFlags select the settlement chain.
type chainFlags struct {
	SettleRPC   []string `name:"settle-rpc"   placeholder:"URL"     env:"TXLENS_SETTLE_RPC"   sep:"," help:"JSON-RPC endpoint of the settlement chain; default the chain's public one."`
	SettleChain uint64   `name:"settle-chain"                       env:"TXLENS_SETTLE_CHAIN"         help:"Chain that is paid on."                                                     default:"4217"`
	SettleToken string   `name:"settle-token" placeholder:"ADDRESS" env:"TXLENS_SETTLE_TOKEN"         help:"Token that is paid in; default the first of the server's that the account holds of the chain's dollar and OUSD."`
}

// defaultSettleChain is the default of --settle-chain.
const defaultSettleChain = 4217

// chain returns the settlement chain that the flags select.
func (f *chainFlags) chain() (client.Chain, error) {
	ch := client.Chain{ID: f.SettleChain, RPC: f.SettleRPC}
	if f.SettleToken != "" {
		if !common.IsHexAddress(f.SettleToken) {
			return ch, settings.InputError{Err: errors.New("--settle-token: no address")}
		}
		ch.Token = common.HexToAddress(f.SettleToken)
	}
	return ch, nil
}

// walletFlags select the account whose channels are used.
type walletFlags struct {
	keyFlag    `embed:""`
	dirFlag    `embed:""`
	chainFlags `embed:""`
}

// options returns the options of a client of server. The caller adds its callbacks.
func (f *walletFlags) options(server string) (o client.Options, err error) {
	if f.KeyFile == "" {
		return o, settings.InputError{Err: errors.New("--key-file: name the key that pays")}
	}
	o.Server = server
	if o.Chain, err = f.chain(); err != nil {
		return o, err
	}
	if o.Dir, err = f.dir(); err != nil {
		return o, err
	}
	key, err := client.ReadKey(f.KeyFile)
	if err != nil {
		return o, settings.InputError{Err: err}
	}
	o.Key = key
	return o, nil
}

// command returns a command line of the wallet for the same server and flags.
func (f *walletFlags) command(verb, server string) string {
	text := "txlens wallet " + verb + " --server " + server + " --key-file " + f.KeyFile
	if f.WalletDir != "" {
		text += " --wallet-dir " + f.WalletDir
	}
	if f.SettleChain != defaultSettleChain {
		text += fmt.Sprintf(" --settle-chain %d", f.SettleChain)
	}
	if f.SettleToken != "" {
		text += " --settle-token " + f.SettleToken
	}
	for _, u := range f.SettleRPC {
		text += " --settle-rpc " + hideSecrets(u)
	}
	return text
}

// hideSecrets removes the path of an endpoint, which may contain a key.
func hideSecrets(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return "URL"
	}
	return endpoint
}

// payerFlags select who pays, and how much at most.
type payerFlags struct {
	walletFlags `       embed:""`
	MaxDeposit  string `         name:"max-deposit" default:"32" env:"TXLENS_MAX_DEPOSIT" help:"The most that lies in escrow for the server, in dollars; above what it suggests, or the channel cannot be topped up."`
}

// options returns the options of a client that may make deposits.
func (f *payerFlags) options(server string) (o client.Options, err error) {
	if o, err = f.walletFlags.options(server); err == nil {
		o.Limits.MaxDeposit, err = dollars("--max-deposit", f.MaxDeposit)
	}
	return o, err
}

// withoutKey returns the options of a client of a server that asks for no payment.
func (f *payerFlags) withoutKey(server string) (o client.Options, err error) {
	if _, err = f.chain(); err == nil {
		_, err = dollars("--max-deposit", f.MaxDeposit)
	}
	o.Server = server
	return o, err
}

// clientFor makes a client. An error in its options is an InputError.
func clientFor(o client.Options) (*client.Client, error) {
	c, err := client.New(o)
	switch {
	case errors.Is(err, client.ErrLocked):
		return nil, fmt.Errorf("%w; wait for it, or use another key", err)
	case err != nil:
		return nil, settings.InputError{Err: err}
	}
	return c, nil
}
