package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/mpp/tempo"
)

// Chain is the settlement chain that the payer agrees to.
type Chain struct {
	// ID of the chain, default 4217 (Tempo mainnet).
	ID uint64
	// Token that is paid in, default the chain's dollar stablecoin. A server that asks
	// for another is refused.
	Token common.Address
	// RPC are JSON-RPC endpoints, asked in turn; default the chain's public one.
	RPC []string
}

// Limits are what a server may cost. No answer of it can raise them.
type Limits struct {
	// MaxDeposit is the most that lies in escrow for this server, default $32. It must
	// be above what servers suggest, $16, or the channel can never be topped up.
	MaxDeposit tempo.Amount
	// MaxCharge is the most that is signed for one request (one analysis, with all its
	// polls), default MaxDeposit.
	MaxCharge tempo.Amount
	// TopUp is what a top-up adds where no more is needed, default the deposit that
	// the server suggests.
	TopUp tempo.Amount
}

// Options of a Client.
type Options struct {
	// Server is its base URL; https, or http on a loopback address.
	Server string
	// Key signs transactions and vouchers; a *tempo.Secp256k1Key or *tempo.P256Key.
	Key tempo.Signer
	// Account is whose money it is, where Key is only an access key of it; zero: the
	// key's own.
	Account common.Address
	// Dir holds the state of channels, see DefaultDir. It is made where it is missing.
	Dir string

	Chain  Chain
	Limits Limits

	// Timeout of one request with all its polls, default 30 min.
	Timeout time.Duration
	// Silence after which a stream is given up, default 1 min; servers send a heartbeat
	// every 15 s.
	Silence time.Duration

	// OnMoney is told whenever money moves or is signed for; nil: nobody. It must not
	// call the Client.
	OnMoney func(Money)
}

func (l Limits) withDefaults() Limits {
	if l.MaxDeposit.IsZero() {
		l.MaxDeposit = tempo.AmountFrom(32_000_000)
	}
	if l.MaxCharge.IsZero() {
		l.MaxCharge = l.MaxDeposit
	}
	return l
}

// Client buys from one server. It is safe for concurrent use; requests take turns,
// since there is one channel to sign for.
type Client struct {
	o       Options
	server  string
	account common.Address
	web     *http.Client
	chain   *ledger
	turn    chan struct{} // holds the token that whoever works has taken

	store *store // with the turn only
}

// New makes a Client and takes the lock of its channel file. It asks nobody yet. The
// error is ErrLocked where another process has the lock.
func New(o Options) (*Client, error) {
	if o.Key == nil || o.Dir == "" {
		return nil, errors.New("make a client: a key and a folder are needed")
	}
	server, err := baseURL(o.Server)
	if err != nil {
		return nil, err
	}
	c := &Client{o: o, server: server, account: o.Account, web: newWeb(), turn: make(chan struct{}, 1)}
	if c.account == (common.Address{}) {
		c.account = o.Key.Address()
	}
	c.o.Limits = o.Limits.withDefaults()
	if c.o.Timeout <= 0 {
		c.o.Timeout = 30 * time.Minute
	}
	if c.o.Silence <= 0 {
		c.o.Silence = time.Minute
	}
	if c.chain, err = newLedger(o.Chain); err != nil {
		return nil, err
	}
	if c.store, err = openStore(o.Dir, server, c.account); err != nil {
		return nil, err
	}
	c.turn <- struct{}{}
	return c, nil
}

// Close gives the lock back. The channel stays open, for the next Client. It must not
// be called while a request is at work.
func (c *Client) Close() error {
	c.web.CloseIdleConnections()
	c.chain.rpc.Close()
	return c.store.close()
}

// take waits for the turn.
func (c *Client) take(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) give() { c.turn <- struct{}{} }

// money tells of a move.
func (c *Client) money(m Money) {
	if c.o.OnMoney != nil {
		c.o.OnMoney(m)
	}
}

// Answer is an analysis that was paid for.
type Answer struct {
	RequestID string // of the run; empty for a job
	JobID     string
	Result    *api.Result
	HTML      string // in place of Result where Request.Report asked for a report
	// Signed for this request, and Charged as the receipts say.
	Signed, Charged tempo.Amount
	Recovered       bool // the stream broke, and the run was fetched or joined again
}

// Refund is how a channel ended.
type Refund struct {
	Channel Channel // as it stood before
	// Captured went to the server in all, Refunded back to the account.
	Captured, Refunded tempo.Amount
	// Confirmed by the chain; otherwise it is what the server says.
	Confirmed bool
	TxHash    common.Hash
}

// MoneyKind says what a Money is about.
type MoneyKind string

// What money does.
const (
	MoneyOpened   MoneyKind = "opened"    // Amount: the deposit
	MoneyToppedUp MoneyKind = "topped up" // Amount: what was added
	MoneySigned   MoneyKind = "signed"    // Amount: what the voucher adds
	MoneyCharged  MoneyKind = "charged"   // a receipt came; Amount: what it adds to the charges
	MoneyClosed   MoneyKind = "closed"    // Amount: the refund
	MoneyNotice   MoneyKind = "notice"    // Text: something a person should know
)

// Money is one move of money.
type Money struct {
	Kind    MoneyKind
	Amount  tempo.Amount
	Channel Channel // as it stands afterwards
	Text    string
}

// ChannelState is how a channel stands for its payer.
type ChannelState string

// States of a channel.
const (
	Opening ChannelState = "opening" // signed, and not seen on the chain yet
	Open    ChannelState = "open"
	Closing ChannelState = "closing" // its close was asked for
)

// Channel is a payment channel as its payer knows it.
type Channel struct {
	Server   string // base URL
	Account  common.Address
	ID       common.Hash
	ChainID  uint64
	Token    common.Address
	Payee    common.Address
	State    ChannelState
	Deposit  tempo.Amount
	Signed   tempo.Amount // the highest voucher: the most the server can take
	Spent    tempo.Amount // charged, as the last receipt said
	OpenedAt time.Time
	// Withdrawable is when Withdraw works, after RequestClose; zero: not asked for.
	Withdrawable time.Time
}
