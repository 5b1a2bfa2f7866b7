package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors"
	"txlens/engine/explain"
	"txlens/engine/mpp"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
	"txlens/storage"
	"txlens/transport"
	"txlens/transport/discovery"
)

// payFlags say whether and how analyses are sold. Nothing is sold without
// --settle-rpc.
type payFlags struct {
	SettleRPC     []string      `name:"settle-rpc" placeholder:"URL" env:"TXLENS_SETTLE_RPC" sep:"," secret:"url" help:"Sell analyses: JSON-RPC endpoint of the settlement chain. Repeatable, or comma-separated; without it nothing is charged."`
	SettleChain   uint64        `name:"settle-chain" default:"4217" env:"TXLENS_SETTLE_CHAIN" help:"Chain id of the settlement chain."`
	SettleToken   string        `name:"settle-token" default:"0x20C000000000000000000000b9537d11c60E8b50" env:"TXLENS_SETTLE_TOKEN" secret:"no" help:"TIP-20 token that is paid in; 6 decimals."`
	SettleKeyFile string        `name:"settle-key-file" placeholder:"FILE" type:"path" env:"TXLENS_SETTLE_KEY_FILE" secret:"no" help:"File with the secp256k1 key, in hex, that settles channels; its address is the payee unless another is named."`
	SettlePayee   string        `name:"settle-payee" placeholder:"ADDRESS" env:"TXLENS_SETTLE_PAYEE" help:"Who is paid, where the key is only the operator's."`
	Realm         string        `name:"realm" default:"txlens" env:"TXLENS_REALM" help:"Protection space of the payment challenges: the host name of the service, as a rule."`
	MinDeposit    string        `name:"min-deposit" default:"2" env:"TXLENS_MIN_DEPOSIT" help:"Smallest deposit of a channel that is served, in tokens."`
	Suggested     string        `name:"suggested-deposit" default:"16" env:"TXLENS_SUGGESTED_DEPOSIT" help:"Deposit that the challenges suggest, in tokens."`
	Exposure      string        `name:"exposure" default:"0.25" env:"TXLENS_EXPOSURE" help:"What an analysis may owe before its next purchase waits for a voucher, in tokens."`
	Patience      time.Duration `name:"voucher-patience" default:"60s" env:"TXLENS_VOUCHER_PATIENCE" help:"How long a stream waits for a voucher that its client owes."`
	SettleAt      string        `name:"settle-at" default:"5" env:"TXLENS_SETTLE_AT" help:"What is served and not paid out on one channel before it is settled, in tokens."`
	SettleAge     time.Duration `name:"settle-age" default:"24h" env:"TXLENS_SETTLE_AGE" help:"Age of what is not paid out before a channel is settled."`
	SettleIdle    time.Duration `name:"settle-idle" default:"720h" env:"TXLENS_SETTLE_IDLE" help:"Time without a voucher or charge before a channel is closed."`
}

func (f *payFlags) sells() bool { return len(f.SettleRPC) > 0 }

// prices are the amounts among the flags, in base units.
type prices struct{ min, suggested, exposure, settleAt tempo.Amount }

func (f *payFlags) prices() (p prices, err error) {
	for _, a := range []struct {
		flag, text string
		to         *tempo.Amount
	}{
		{"--min-deposit", f.MinDeposit, &p.min}, {"--suggested-deposit", f.Suggested, &p.suggested},
		{"--exposure", f.Exposure, &p.exposure}, {"--settle-at", f.SettleAt, &p.settleAt},
	} {
		if *a.to, err = mpp.ParseTokens(a.text); err != nil {
			return p, badInput{fmt.Errorf("%s: %w", a.flag, err)}
		}
		if _, fits := a.to.Uint64(); !fits || a.to.IsZero() {
			return p, badInput{fmt.Errorf("%s: %q is out of range", a.flag, a.text)}
		}
	}
	if p.suggested.Cmp(p.min) < 0 {
		return p, badInput{errors.New("--suggested-deposit: must not be below --min-deposit")}
	}
	return p, nil
}

// faults lists what is wrong with the settings of payment.
func (f *payFlags) faults() (list []error) {
	if !f.sells() {
		return nil
	}
	if _, err := f.prices(); err != nil {
		list = append(list, err)
	}
	if !common.IsHexAddress(f.SettleToken) {
		list = append(list, errors.New("--settle-token: no address"))
	}
	if f.SettlePayee != "" && !common.IsHexAddress(f.SettlePayee) {
		list = append(list, errors.New("--settle-payee: no address"))
	}
	if f.SettleKeyFile == "" && f.SettlePayee == "" {
		list = append(list, errors.New("--settle-key-file: name the key that is paid and settles"))
	} else if _, err := f.key(); err != nil {
		list = append(list, err)
	}
	if strings.TrimSpace(f.Realm) == "" || strings.ContainsFunc(f.Realm, func(r rune) bool { return r <= ' ' || r > '~' }) {
		list = append(list, errors.New("--realm: must be one word of ASCII"))
	}
	if f.Patience <= 0 || f.SettleAge <= 0 || f.SettleIdle <= 0 {
		list = append(list, errors.New("--voucher-patience, --settle-age, --settle-idle: must be above 0"))
	}
	return list
}

// key reads the settlement key; nil where none is named. Its text is in no error.
func (f *payFlags) key() (tempo.Signer, error) {
	if f.SettleKeyFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.SettleKeyFile)
	if err != nil {
		return nil, badInput{fmt.Errorf("--settle-key-file: %w", err)}
	}
	key, err := tempo.ParseSecp256k1Key(string(text))
	if err != nil {
		return nil, badInput{fmt.Errorf("--settle-key-file: %w", err)}
	}
	return key, nil
}

// till is what a server that sells stands on.
type till struct {
	chain    *settle.Client
	channels *actors.Channels
	treasury *actors.Treasury
	settles  bool          // there is a key to settle with
	unpaid   time.Duration // how long a job that runs goes without being collected
	payments transport.Payments
	terms    discovery.Terms
}

// newTill opens the books. It asks the chain for nothing but its id.
func newTill(ctx context.Context, f *payFlags, x *actors.Explainer, store *storage.Store, dir string, log *slog.Logger) (*till, error) {
	p, err := f.prices()
	if err != nil {
		return nil, err
	}
	key, err := f.key()
	if err != nil {
		return nil, err
	}
	payee, operator := common.HexToAddress(f.SettlePayee), common.Address{}
	switch {
	case f.SettlePayee == "":
		payee = key.Address()
	case key != nil && key.Address() != payee:
		operator = key.Address()
	}
	secret, err := challengeSecret(store, dir)
	if err != nil {
		return nil, err
	}
	issuer, err := mpp.NewIssuer(secret)
	if err != nil {
		return nil, err
	}
	token := common.HexToAddress(f.SettleToken)
	domain := tempo.NewDomain(f.SettleChain, reserveAddress)
	t := &till{settles: key != nil, unpaid: unpaidPatience}
	if t.chain, err = settle.New(settle.Options{URLs: f.SettleRPC, Domain: domain, Key: key, FeeToken: token}); err != nil {
		return nil, badInput{fmt.Errorf("--settle-rpc: %w", err)}
	}
	if err := t.chain.CheckChain(ctx); err != nil && !errors.Is(err, settle.ErrUnreachable) {
		return nil, badInput{fmt.Errorf("--settle-rpc: %w", err)}
	} else if err != nil {
		log.Warn("the settlement chain does not answer; nothing is sold until it does", "error", err)
	}
	t.channels = x.NewChannels(actors.ChannelOptions{
		Ledger: store, Reserve: t.chain, Issuer: issuer, Log: log,
		Terms: tempo.Terms{Domain: domain, Token: token, Payee: payee, Operator: operator},
	})
	t.treasury = t.channels.NewTreasury(actors.SettlePolicy{Threshold: p.settleAt, MaxAge: f.SettleAge, IdleClose: f.SettleIdle})
	exposure, _ := p.exposure.Uint64()
	t.payments = transport.Payments{
		Till: t.channels, Issuer: issuer, Realm: f.Realm, MinDeposit: p.min, Exposure: exposure, Tabs: actors.NewTabs(), Patience: f.Patience,
		Request: mpp.SessionRequest{
			Currency: token, Recipient: payee, Operator: operator, UnitType: "request", SuggestedDeposit: p.suggested,
			ChainID: f.SettleChain, EscrowContract: reserveAddress, SessionProtocol: mpp.SessionProtocol,
		},
	}
	t.terms = discovery.DefaultTerms
	t.terms.Currency = token.Hex()
	t.terms.SuggestedDeposit, _ = p.suggested.Uint64()
	t.terms.MinimumDeposit, _ = p.min.Uint64()
	t.terms.RecommendedMax = 2 * t.terms.SuggestedDeposit
	return t, nil
}

// reserveAddress is the TIP-20 channel reserve (TIP-1034), the same on every chain.
var reserveAddress = common.HexToAddress("0x4d50500000000000000000000000000000000000")

func (t *till) close() {
	t.treasury.Close()
	t.channels.Close()
	t.chain.Close()
}

// secretFile held what challenges are sealed with before the database did.
const secretFile = "challenge.key"

// challengeSecret is what challenges are sealed with, kept with the ledger: a
// restart, and a restored backup, must know those that are on their way.
func challengeSecret(store *storage.Store, dir string) ([]byte, error) {
	path := filepath.Join(dir, secretFile)
	secret, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, badInput{fmt.Errorf("read the secret of the challenges: %w", err)}
	}
	if len(secret) < 32 {
		secret = make([]byte, 32)
		rand.Read(secret) // never fails (Go 1.24)
	}
	kept, err := store.Secret("challenges", secret)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, badInput{fmt.Errorf("remove the old file with the secret of the challenges: %w", err)}
	}
	return kept, nil
}

// unpaidPatience is the patience with a job that nobody pays for.
const unpaidPatience = 90 * time.Second

// sellJob runs the analysis of a job that its polls pay for. What nobody collects in
// time is cut short; its price is fixed before anybody is told the end.
func (t *till) sellJob(ctx context.Context, job transport.Job, run func(context.Context, transport.Job) (*explain.Result, error)) (*explain.Result, error) {
	bill, err := t.channels.Bill(job.ID)
	if errors.Is(err, actors.ErrNoBill) {
		return run(ctx, job) // from a time when nothing was sold
	}
	if err != nil {
		return nil, err
	}
	tab := actors.NewTab(job.ID, bill.Collected, t.payments.Exposure)
	t.payments.Tabs.Open(tab)
	defer t.payments.Tabs.Close(tab)
	defer tab.Expect(t.unpaid)()
	job.Gate, job.OnCost, job.Finish = tab.Gate, tab.OnCost, tab.GivenUp()
	job.Unpaid = true
	res, err := run(ctx, job)
	if ctx.Err() != nil && err != nil {
		return res, err // given back, or cut off: the next start runs it again
	}
	if _, ferr := t.channels.Final(job.ID, tab.Owed()); ferr != nil {
		return nil, fmt.Errorf("fix the price of job %s: %w", job.ID, ferr)
	}
	return res, err
}
