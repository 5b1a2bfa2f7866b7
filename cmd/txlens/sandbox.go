package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"txlens/app/settings"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"

	"github.com/ethereum/go-ethereum/common"
)

type sandboxCmd struct {
	Listen    string        `name:"listen"     default:"127.0.0.1:8545" help:"Address and port of the JSON-RPC."`
	ChainID   uint64        `name:"chain-id"   default:"42431"          help:"Chain id; that of mainnet, 4217, is refused."`
	BlockTime time.Duration `name:"block-time" default:"500ms"          help:"Time between blocks; 0 makes one for each transaction at once."`
	FreeGas   bool          `name:"free-gas"                            help:"Transactions may offer no fee."`
	Fund      []string      `name:"fund"                                help:"Give an account so many whole pathUSD (6 decimals); repeatable." placeholder:"ADDRESS=AMOUNT"`
}

func (cmd *sandboxCmd) options() (opt sandbox.Options, err error) {
	if cmd.BlockTime < 0 {
		return opt, settings.InputError{Err: errors.New("--block-time: must not be negative")}
	}
	opt = sandbox.Options{ChainID: cmd.ChainID, BlockTime: cmd.BlockTime, FreeGas: cmd.FreeGas}
	for _, text := range cmd.Fund {
		account, amount, _ := strings.Cut(text, "=")
		if !common.IsHexAddress(account) {
			return opt, settings.InputError{Err: fmt.Errorf("--fund: %q is no address", account)}
		}
		units, err := mpp.ParseTokens(amount)
		if err != nil {
			return opt, settings.InputError{Err: fmt.Errorf("--fund: %w", err)}
		}
		opt.Fund = append(opt.Fund, sandbox.Funding{Account: common.HexToAddress(account), Amount: *units.Uint256()})
	}
	return opt, nil
}

// Run serves the chain until the context ends.
func (cmd *sandboxCmd) Run(ctx context.Context, c console) error {
	opt, err := cmd.options()
	if err != nil {
		return err
	}
	opt.Log = slog.New(slog.NewTextHandler(c.err, nil))
	chain, err := sandbox.New(opt)
	if errors.Is(err, sandbox.ErrMainnet) {
		return settings.InputError{Err: fmt.Errorf("--chain-id: %w", err)}
	} else if err != nil {
		return settings.InputError{Err: err}
	}
	ln, err := net.Listen("tcp", cmd.Listen)
	if err != nil {
		return settings.InputError{Err: fmt.Errorf("--listen: %w", err)}
	}
	cmd.banner(c, chain, opt, ln.Addr().String())
	srv := &http.Server{
		Handler: chain, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the sandbox: %w", err)
	}
	return nil
}

// banner prints what the sandbox is and how to reach it.
func (cmd *sandboxCmd) banner(c console, chain *sandbox.Chain, opt sandbox.Options, at string) {
	fmt.Fprintf(c.out, "SANDBOX · %s\n\n", sandbox.Warning)
	fmt.Fprintf(c.out, "  RPC URL   http://%s\n", at)
	fmt.Fprintf(c.out, "  Chain id  %d\n", chain.ChainID())
	fmt.Fprintf(c.out, "  Token     %s pathUSD, 6 decimals\n", sandbox.PathUSD.Hex())
	fmt.Fprintf(c.out, "  Escrow    %s\n", sandbox.Reserve.Hex())
	for _, f := range opt.Fund {
		balance := chain.Balance(sandbox.PathUSD, f.Account)
		fmt.Fprintf(c.out, "  Funded    %s %s base units\n", f.Account.Hex(), balance.Dec())
	}
	if len(opt.Fund) == 0 {
		fmt.Fprintln(c.out, "  Funded    nobody; use --fund, or the method sandbox_mint [account, base units]")
	}
}
