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
	// Token for payments, default the chain's dollar stablecoins: of those that a server takes
	// the first one that the account holds. A server that asks for another one is refused.
	Token common.Address
	// RPC are JSON-RPC endpoints, asked in turn; default the chain's public endpoint.
	RPC []string

	others []common.Address // taken besides Token
}

// Limits are the maximum amounts for a server. No answer of the server can raise them.
type Limits struct {
	// MaxDeposit is the maximum in escrow for this server, default $32. It must be above what
	// servers suggest, $16, or the channel can never be topped up.
	MaxDeposit tempo.Amount
	// MaxCharge is the maximum that is signed for one request (one analysis with all its
	// polls), default MaxDeposit.
	MaxCharge tempo.Amount
	// TopUp is the amount of a top-up if no more is needed, default the deposit that the
	// server suggests.
	TopUp tempo.Amount
}

// Options of a Client.
type Options struct {
	// Server is its base URL; https, or http for a loopback address. Without Key and CallerKey
	// any http address is allowed.
	Server string
	// Key signs transactions and vouchers; a *tempo.Secp256k1Key or *tempo.P256Key. A server that
	// asks for no payment needs none: then Account, Dir, Chain and Limits are not used, and
	// ErrNoKey is the error of what must be paid.
	Key tempo.Signer
	// CallerKey is the key of the caller, for a server that answers only callers with one; empty:
	// none. It is sent by https only, except to a loopback address.
	CallerKey string
	// Account owns the money if Key is only an access key of it; zero: the account of Key.
	Account common.Address
	// Dir holds the state of channels, see DefaultDir. It is created if it does not exist.
	Dir string

	Chain  Chain
	Limits Limits

	// Timeout of one request with all its polls, default 30 min.
	Timeout time.Duration
	// Silence is how long a stream may send nothing before it is given up, default 1 min;
	// servers send a heartbeat every 15 s.
	Silence time.Duration

	// OnMoney is called for each deposit, voucher, charge and refund; nil: not called. It must
	// not call the Client.
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

// Client buys from one server. It is safe for concurrent use. Requests run one after another,
// because they sign for the same channel.
type Client struct {
	o       Options
	server  string
	account common.Address
	web     *http.Client
	chain   *settlementChain
	turn    chan struct{} // semaphore of the running request: holds one token

	store *store // guarded by the semaphore
}

// New returns a Client that holds the lock of its channel file, if it has a key. It makes no request. The error
// is ErrLocked if another process has the lock.
func New(o Options) (*Client, error) {
	if o.Key != nil && o.Dir == "" {
		return nil, errors.New("make a client: a key needs a folder for its channels")
	}
	if !Sendable(o.CallerKey) {
		return nil, errors.New("make a client: the caller's key has a character that cannot be sent, such as a blank or a line break")
	}
	server, err := baseURL(o.Server, o.Key != nil || o.CallerKey != "")
	if err != nil {
		return nil, err
	}
	c := &Client{o: o, server: server, account: o.Account, web: newWeb(), turn: make(chan struct{}, 1)}
	c.o.Limits = o.Limits.withDefaults()
	if c.o.Timeout <= 0 {
		c.o.Timeout = 30 * time.Minute
	}
	if c.o.Silence <= 0 {
		c.o.Silence = time.Minute
	}
	if err := c.openWallet(); err != nil {
		return nil, err
	}
	c.turn <- struct{}{}
	return c, nil
}

// openWallet opens what pays. Without a key that is a store without channels.
func (c *Client) openWallet() (err error) {
	if c.o.Key == nil {
		c.store = &store{}
		return nil
	}
	if c.account == (common.Address{}) {
		c.account = c.o.Key.Address()
	}
	if c.chain, err = newLedger(c.o.Chain); err != nil {
		return err
	}
	c.store, err = openStore(c.o.Dir, c.server, c.account)
	return err
}

// Close releases the lock. The channel stays open for the next Client. It must not be called
// during a request.
func (c *Client) Close() error {
	c.web.CloseIdleConnections()
	if c.o.Key == nil {
		return nil
	}
	c.chain.rpc.Close()
	return c.store.close()
}

// acquire waits for the running request to end.
func (c *Client) acquire(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) give() { c.turn <- struct{}{} }

// money calls OnMoney.
func (c *Client) money(m Money) {
	if c.o.OnMoney != nil {
		c.o.OnMoney(m)
	}
}

// Answer is an analysis that was paid for.
type Answer struct {
	RequestID string // request id of the run; empty for a job
	JobID     string
	Result    *api.Result
	HTML      string // set instead of Result if Request.Report asked for a report
	// Signed is the amount signed for this request, Charged the amount in the receipts.
	Signed, Charged tempo.Amount
	Recovered       bool // the stream broke, and the run was joined again or fetched
}

// Refund is the result of closing a channel.
type Refund struct {
	Channel Channel // state before the close
	// Captured is the total payment to the server, Refunded the amount returned to the
	// account.
	Captured, Refunded tempo.Amount
	// Confirmed means that the chain shows it; otherwise only the server reports it.
	Confirmed bool
	TxHash    common.Hash
}

// MoneyKind is the kind of a Money event.
type MoneyKind string

// Kinds of Money events.
const (
	MoneyOpened   MoneyKind = "opened"    // opening; Amount: the deposit
	MoneyToppedUp MoneyKind = "topped up" // top-up; Amount: what was added
	MoneySigned   MoneyKind = "signed"    // voucher; Amount: the increase
	MoneyCharged  MoneyKind = "charged"   // receipt; Amount: the increase of the charges
	MoneyClosed   MoneyKind = "closed"    // refund; Amount: the refund
	MoneyNotice   MoneyKind = "notice"    // warning; Text: what the user should know
)

// Money is one event about money.
type Money struct {
	Kind    MoneyKind
	Amount  tempo.Amount
	Channel Channel // state after the event
	Text    string
}

// ChannelState is the state of a channel as its payer sees it.
type ChannelState string

// States of a channel.
const (
	Opening ChannelState = "opening" // signed, but not seen on chain yet
	Open    ChannelState = "open"
	Closing ChannelState = "closing" // its close was requested
)

// Channel is a payment channel as its payer sees it.
type Channel struct {
	Server   string // base URL
	Account  common.Address
	ID       common.Hash
	ChainID  uint64
	Token    common.Address
	Payee    common.Address
	State    ChannelState
	Deposit  tempo.Amount
	Signed   tempo.Amount // amount of the highest voucher: the most that the server can take
	Spent    tempo.Amount // charges in the last receipt
	OpenedAt time.Time
	// Withdrawable is when Withdraw works after RequestClose; zero: no close was requested.
	Withdrawable time.Time
}
