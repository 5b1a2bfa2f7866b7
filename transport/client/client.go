package client

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/explain"
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

	// OnMoney is told whenever money moves or is signed for; nil: nobody. It must not
	// call the Client.
	OnMoney func(Money)
}

// Client buys from one server. It is safe for concurrent use; requests at the same
// time share the channel.
type Client struct {
}

// New makes a Client and takes the lock of its channel file. It asks nobody yet. The
// error is ErrLocked where another process has the lock.
func New(o Options) (*Client, error) { return nil, errUnfinished }

// Close gives the lock back. The channel stays open, for the next Client.
func (c *Client) Close() error { return nil }

// Answer is an analysis that was paid for.
type Answer struct {
	RequestID string // of the run; empty for a job
	JobID     string
	Result    *explain.Result
	HTML      string // in place of Result where Request.Report asked for a report
	// Signed for this request, and Charged as the receipts say.
	Signed, Charged tempo.Amount
	Recovered       bool // the stream broke, and the run was fetched or joined again
}

// Explain buys an analysis as a stream. sink gets its events as they come, and may be
// nil. A stream that breaks is joined again, or its run is fetched once it has ended;
// where that fails the error is a *LostRun, which names the run for Recover.
func (c *Client) Explain(ctx context.Context, req explain.Request, sink func(explain.Event)) (*Answer, error) {
	return nil, errUnfinished
}

// ExplainJob buys an analysis as a job that is polled, every so often (default 5 s),
// until it has ended. sink may be nil; it gets what polls tell.
func (c *Client) ExplainJob(ctx context.Context, req explain.Request, every time.Duration, sink func(explain.Event)) (*Answer, error) {
	return nil, errUnfinished
}

// Recover fetches a run whose stream was lost, and pays what is outstanding on it.
func (c *Client) Recover(ctx context.Context, requestID string) (*Answer, error) {
	return nil, errUnfinished
}

// Open opens a channel ahead of the first request, or finds the one that is open.
func (c *Client) Open(ctx context.Context) (Channel, error) { return Channel{}, errUnfinished }

// TopUp adds to the deposit, within Limits.MaxDeposit. There must be a channel.
func (c *Client) TopUp(ctx context.Context, amount tempo.Amount) (Channel, error) {
	return Channel{}, errUnfinished
}

// CloseChannel has the server pay itself what it served and refund the rest. It is
// harmless to repeat. ErrNoChannel where none is open.
func (c *Client) CloseChannel(ctx context.Context) (Refund, error) { return Refund{}, errUnfinished }

// RequestClose asks the chain for the money where the server does not answer. From
// the time that it returns on, Withdraw gets it; until then the server may still take
// what was signed. Both pay the chain's fee from the account.
func (c *Client) RequestClose(ctx context.Context) (withdrawable time.Time, err error) {
	return time.Time{}, errUnfinished
}

// Withdraw takes the rest of a channel back, after RequestClose and its grace period.
func (c *Client) Withdraw(ctx context.Context) (Refund, error) { return Refund{}, errUnfinished }

// Refresh asks the chain about all channels of the file, and returns them as they
// are. Those that are gone from the chain are gone from the file, too.
func (c *Client) Refresh(ctx context.Context) ([]Channel, error) { return nil, errUnfinished }

// Balance is what account has of the token outside of channels.
func (ch Chain) Balance(ctx context.Context, account common.Address) (tempo.Amount, error) {
	return tempo.Amount{}, errUnfinished
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

// Channels lists the channels in a folder, of all servers and accounts, by server,
// account and age. It takes no lock and asks nobody. A missing folder has none.
func Channels(dir string) ([]Channel, error) { return nil, errUnfinished }

// DefaultDir is where the channels of a user lie: txlens/wallet in the user's
// configuration folder.
func DefaultDir() (string, error) { return "", errUnfinished }

// ReadKey reads a secp256k1 key in hex. A file that others than its owner may read
// is refused.
func ReadKey(path string) (*tempo.Secp256k1Key, error) { return nil, errUnfinished }

// NewKey makes a key and writes it to a new file that only its owner can read.
func NewKey(path string) (*tempo.Secp256k1Key, error) { return nil, errUnfinished }

var errUnfinished = errors.New("the client is not finished")
