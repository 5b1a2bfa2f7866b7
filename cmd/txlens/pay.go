package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/analysis"
	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/actors/sale"
	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/engine/meter"
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
	SettleRPC     []string      `name:"settle-rpc"        placeholder:"URL"     env:"TXLENS_SETTLE_RPC"        sep:"," secret:"url" help:"Sell analyses: JSON-RPC endpoint of the settlement chain. Repeatable, or comma-separated; without it nothing is charged."`
	SettleChain   uint64        `name:"settle-chain"                            env:"TXLENS_SETTLE_CHAIN"                           help:"Chain id of the settlement chain."                                                                                                                                                                      default:"4217"`
	SettleToken   string        `name:"settle-token"                            env:"TXLENS_SETTLE_TOKEN"              secret:"no"  help:"TIP-20 token that is paid in; 6 decimals."                                                                                                                                                              default:"0x20C000000000000000000000b9537d11c60E8b50"`
	SettleKeyFile string        `name:"settle-key-file"   placeholder:"FILE"    env:"TXLENS_SETTLE_KEY_FILE"           secret:"no"  help:"File with the secp256k1 key, in hex, that settles channels; its address is the payee unless another is named."                                                                                                                                               type:"path"`
	SettlePayee   string        `name:"settle-payee"      placeholder:"ADDRESS" env:"TXLENS_SETTLE_PAYEE"                           help:"Account that is paid, if the key is only that of its operator."`
	Realm         string        `name:"realm"             placeholder:"HOST"    env:"TXLENS_REALM"                                  help:"Protection space of the payment challenges; default: the host of --base-url, or txlens."`
	MinDeposit    string        `name:"min-deposit"                             env:"TXLENS_MIN_DEPOSIT"                            help:"Smallest deposit of a channel that is served, in tokens."                                                                                                                                               default:"2"`
	Suggested     string        `name:"suggested-deposit"                       env:"TXLENS_SUGGESTED_DEPOSIT"                      help:"Deposit that the challenges suggest, in tokens."                                                                                                                                                        default:"16"`
	Exposure      string        `name:"exposure"                                env:"TXLENS_EXPOSURE"                               help:"What one payer may owe in all, for running and ended analyses, before the next purchase waits for a voucher, in tokens."                                                                                default:"0.25"`
	Patience      time.Duration `name:"voucher-patience"                        env:"TXLENS_VOUCHER_PATIENCE"                       help:"How long a stream waits for a voucher that its client owes."                                                                                                                                            default:"60s"`
	SettleAt      string        `name:"settle-at"                               env:"TXLENS_SETTLE_AT"                              help:"Amount served and not paid out at which a channel is settled, in tokens."                                                                                                                               default:"5"`
	SettleAge     time.Duration `name:"settle-age"                              env:"TXLENS_SETTLE_AGE"                             help:"Age at which an amount that is not paid out is settled."                                                                                                                                                default:"24h"`
	SettleIdle    time.Duration `name:"settle-idle"                             env:"TXLENS_SETTLE_IDLE"                            help:"Time without a voucher or charge before a channel is closed; at least 1m."                                                                                                                              default:"720h"`
	AdoptChannels bool          `name:"adopt-channels"                          env:"TXLENS_ADOPT_CHANNELS"                         help:"Serve channels that the chain knows and the database does not, and count what was paid out beyond it as served. For a database that was lost or restored, and only where no other server uses the key."`

	VoucherRate   float64       `name:"voucher-rate"             default:"10"  env:"TXLENS_VOUCHER_RATE"             help:"Vouchers a second on one channel; beyond it they wait, and are then answered 429. 0: no limit."`
	OpenRate      float64       `name:"open-rate"                default:"12"  env:"TXLENS_OPEN_RATE"                help:"Openings and top-ups a minute of one payer; beyond it the answer is 429. 0: no limit."`
	OpenRatePerIP float64       `name:"open-rate-per-ip"         default:"60"  env:"TXLENS_OPEN_RATE_PER_IP"         help:"Openings and top-ups a minute from one IPv4 address or IPv6 /64; beyond it the answer is 429. 0: no limit, for a server behind a proxy, where all requests come from one address."`
	PerPayer      int           `name:"max-analyses-per-payer"   default:"8"   env:"TXLENS_MAX_ANALYSES_PER_PAYER"   help:"Analyses of one payer at a time, those that wait to be paid among them; beyond it the answer is 503."`
	PerChannel    int           `name:"max-analyses-per-channel" default:"4"   env:"TXLENS_MAX_ANALYSES_PER_CHANNEL" help:"The same for one payment channel."`
	JobsPerPayer  int           `name:"max-jobs-per-payer"       default:"32"  env:"TXLENS_MAX_JOBS_PER_PAYER"       help:"Async jobs of one payer that wait or run; beyond it the answer is 503."`
	StrangerShare int           `name:"stranger-share"           default:"50"  env:"TXLENS_STRANGER_SHARE"           help:"Percent of --max-analyses, and of the jobs, that all payers who have not yet paid as much as --exposure may hold together."`
	QueueTime     time.Duration `name:"queue-time"               default:"10s" env:"TXLENS_QUEUE_TIME"               help:"How long a paid request waits for its turn before it is answered 503; 0: not at all."`
}

// sells reports whether analyses are sold.
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
	if strings.ContainsFunc(f.Realm, func(r rune) bool { return r <= ' ' || r > '~' }) {
		list = append(list, errors.New("--realm: must be one word of ASCII"))
	}
	if f.Patience <= 0 || f.SettleAge <= 0 {
		list = append(list, errors.New("--voucher-patience, --settle-age: must be above 0"))
	}
	if f.SettleIdle < time.Minute {
		list = append(list, errors.New("--settle-idle: must be at least 1m"))
	}
	return append(list, f.faultsOfLimits()...)
}

func (f *payFlags) faultsOfLimits() (list []error) {
	if f.VoucherRate < 0 || f.OpenRate < 0 || f.OpenRatePerIP < 0 || f.QueueTime < 0 {
		list = append(list, errors.New("--voucher-rate, --open-rate, --open-rate-per-ip, --queue-time: must not be negative"))
	}
	if f.PerPayer < 1 || f.PerChannel < 1 || f.JobsPerPayer < 1 {
		list = append(list, errors.New("--max-analyses-per-payer, --max-analyses-per-channel, --max-jobs-per-payer: must be at least 1"))
	}
	if f.StrangerShare < 1 || f.StrangerShare > 100 {
		list = append(list, errors.New("--stranger-share: must be from 1 to 100"))
	}
	return list
}

// shares are the bounds of one party in total running analyses.
func (f *payFlags) shares(total int) slots.Limits {
	return slots.Limits{Total: total, PerChannel: f.PerChannel, PerPayer: f.PerPayer, Strangers: total * f.StrangerShare / 100}
}

// jobShares are those in the jobs that wait or run.
func (f *payFlags) jobShares(total int) slots.Limits {
	return slots.Limits{Total: total, PerChannel: f.JobsPerPayer, PerPayer: f.JobsPerPayer, Strangers: total * f.StrangerShare / 100}
}

// realm is the protection space of the challenges of a server at base.
func (f *payFlags) realm(base discovery.BaseURL) string {
	if f.Realm != "" {
		return f.Realm
	}
	if u, err := url.Parse(base.String()); err == nil && u.Host != "" {
		return u.Host
	}
	return "txlens"
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

// chain is the settlement chain; nil key: nothing is settled.
func (f *payFlags) chain(key tempo.Signer) (*settle.Client, error) {
	domain := tempo.NewDomain(f.SettleChain, reserveAddress)
	c, err := settle.New(settle.Options{URLs: f.SettleRPC, Domain: domain, Key: key, FeeToken: common.HexToAddress(f.SettleToken)})
	if err != nil {
		return nil, badInput{fmt.Errorf("--settle-rpc: %w", err)}
	}
	return c, nil
}

// till is what a server that sells stands on.
type till struct {
	chain    *settle.Client
	channels *channel.Channels
	treasury *channel.Settler
	seller   *sale.Seller
	settles  bool // there is a key to settle with
	payments transport.Payments
}

// tillSite is what a till needs to know of the server around it.
type tillSite struct {
	base discovery.BaseURL
	jobs int // async jobs that may wait or run
	// jobPatience is with a job that nobody pays for; 0: sale.JobPatience.
	jobPatience time.Duration
}

// newTill opens the books. It asks the chain for nothing but its id.
func newTill(
	ctx context.Context,
	f *payFlags,
	site tillSite,
	x *analysis.Explainer,
	store *storage.Store,
	dir string,
	log *slog.Logger,
) (*till, error) {
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
	t := &till{settles: key != nil}
	if t.chain, err = f.chain(key); err != nil {
		return nil, err
	}
	if err := t.chain.CheckChain(ctx); errors.Is(err, settle.ErrWrongChain) {
		return nil, badInput{fmt.Errorf("--settle-rpc: %w", err)}
	} else if err != nil {
		log.Warn("the settlement chain does not answer; no channel is opened until it does",
			"do", "check that the endpoints of --settle-rpc can be reached", "error", err)
	}
	if f.AdoptChannels {
		log.Warn(
			"channels that the database does not know are taken over from the chain",
			"do",
			"start without --adopt-channels when the payers have come back, and while another server uses the key",
		)
	}
	t.channels = channel.New(x.System(), channel.Options{
		Ledger: store, Reserve: t.chain, Issuer: issuer, Log: log, Adopt: f.AdoptChannels,
		Terms: tempo.Terms{Domain: domain, Token: token, Payee: payee, Operator: operator}, MinDeposit: p.min, MinVoucherDelta: unit,
		Limits: channel.PayLimits{VouchersPerSecond: f.VoucherRate, OpensPerMinute: f.OpenRate, OpensPerMinutePerOrigin: f.OpenRatePerIP},
	})
	t.treasury = t.channels.NewSettler(channel.SettlePolicy{
		Threshold: p.settleAt, MaxAge: f.SettleAge, IdleClose: f.SettleIdle, Unit: unit, MinDeposit: p.min,
	})
	exposure, _ := p.exposure.Uint64()
	// A little less than what is taken, so that a client which does as it is told is
	// never made to wait.
	t.seller = sale.New(
		sale.Options{
			Books:             t.channels,
			Exposure:          exposure,
			Patience:          f.Patience,
			JobPatience:       site.jobPatience,
			VouchersPerSecond: 0.8 * f.VoucherRate,
			Jobs:              f.jobShares(site.jobs),
			Log:               log,
		},
	)
	t.payments = transport.Payments{
		Till: t.channels, Seller: t.seller, Issuer: issuer, Realm: f.realm(site.base), MinDeposit: p.min, QueueTime: queueTime(f.QueueTime),
		Request: mpp.SessionRequest{
			Currency: token, Recipient: payee, Operator: operator, UnitType: "request", SuggestedDeposit: p.suggested, MinVoucherDelta: unit,
			ChainID: f.SettleChain, EscrowContract: reserveAddress, SessionProtocol: mpp.SessionProtocol,
		},
	}
	return t, nil
}

// unit is the price of one unit, and the least by which a voucher must rise.
var unit = tempo.AmountFrom(meter.Cent)

// reserveAddress is the TIP-20 channel reserve (TIP-1034), the same on every chain.
var reserveAddress = common.HexToAddress("0x4d50500000000000000000000000000000000000")

// queueTime is the setting as the server takes it, to which zero is the default.
func queueTime(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// jobEnded is told of each job that neither waits nor runs any more. t may be nil.
func (t *till) jobEnded(id string) {
	if t != nil {
		t.seller.JobEnded(id)
	}
}

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

// sellJob runs the analysis of a job that its polls pay for.
func (t *till) sellJob(
	ctx context.Context,
	w job.Work,
	run func(context.Context, transport.Job) (*api.Result, error),
) (*api.Result, error) {
	return t.seller.Job(ctx, w.ID, w.Slot, func(ctx context.Context, sold *sale.Run) (*api.Result, error) {
		spec := transport.Job{ID: w.ID, Request: w.Request}
		if sold != nil {
			spec.Gate, spec.OnCost, spec.Finish, spec.Unpaid = sold.Gate, sold.OnCost, sold.GivenUp(), true
		}
		return run(ctx, spec)
	})
}
