package channel

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// Errors of a PaymentStore.
var (
	// ErrNoChannel: the store has no channel with this id.
	ErrNoChannel = errors.New("channel is not in the ledger")
	// ErrNoBill: nothing was ever charged for this run or job.
	ErrNoBill = errors.New("no bill")
	// ErrNoTicket: no request was admitted under this key.
	ErrNoTicket = errors.New("no ticket")
)

// Bill is what one run or job has cost its payer. It is kept as long as what it is
// for. Amounts are base units.
type Bill struct {
	ID string // of the run or job, by recordid.New
	// Payer and Channel are those of the voucher that it began with. They are zero in
	// bills of earlier versions.
	Payer     common.Address
	Channel   common.Hash
	Collected tempo.Amount
	// Price is the whole price once Final, and the least so far until then.
	Price tempo.Amount
	Final bool
	// Delivered: the result was written to the client's connection to its end.
	Delivered bool
}

// Debt reports whether the analysis has ended and is not paid.
func (b Bill) Debt() bool { return b.Final && !b.Outstanding().IsZero() }

// Outstanding is what is still owed.
func (b Bill) Outstanding() tempo.Amount {
	left, _ := b.Price.Sub(b.Collected) // nothing where more was collected
	return left
}

// TicketKey is the hash of what makes two requests one: channel, cumulative amount
// or Idempotency-Key, route and body; or channel, route and body alone.
type TicketKey [32]byte

// Ticket says that a request was admitted, and as what.
type Ticket struct {
	Key     TicketKey
	Bill    string // id of the run or job that it began
	Charged tempo.Amount
}

// IntentKind is what a transaction of ours is to do.
type IntentKind string

const (
	IntentSettle IntentKind = "settle"
	IntentClose  IntentKind = "close"
)

// Intent is written before a transaction is sent, so that a crash leaves no doubt
// about what may have happened. Raw is signed and expires by itself; sending it
// twice does nothing twice.
type Intent struct {
	ID          string // by recordid.New
	Kind        IntentKind
	Channels    []common.Hash
	Amounts     []tempo.Amount // per channel: cumulative of a settle, capture of a close
	Raw         []byte
	Hash        common.Hash
	ValidBefore int64 // Unix seconds
}

// Entry is written whole or not at all. nil members are left alone.
type Entry struct {
	Channel *session.Channel // replaces the row
	Bill    *Bill            // replaces the row
	Ticket  *Ticket          // replaces the row
	Request *Ticket          // a second ticket, by which the same request with another voucher finds its run
	Intent  *Intent
	// Drop removes an intent by id; empty: none.
	Drop string
	// Forget removes a channel that never came to be; nil: none.
	Forget *common.Hash
	// Void and VoidRequest remove a ticket; nil: none.
	Void        *TicketKey
	VoidRequest *TicketKey

	// volatile: the row has changed in what the disk does not keep.
	volatile bool
}

func (e Entry) empty() bool { return e == Entry{} || e == Entry{volatile: true} }

// Bounds of what is looked at of one payer.
const (
	MaxDebts      = 64
	MaxChannelsOf = 64
)

// PaymentStore is where channels, bills, tickets and intents are kept. All parts must be
// one database: a Writer's entries are what the readers read. It is safe for concurrent
// use, but two changes of one row must not run at the same time.
type PaymentStore struct {
	Writer
	ChannelReader
	BillReader
	IntentReader
}

// StoreOf returns the PaymentStore whose parts are all s.
func StoreOf[S interface {
	Writer
	ChannelReader
	BillReader
	IntentReader
}](s S) PaymentStore {
	return PaymentStore{s, s, s, s}
}

// Writer writes entries.
type Writer interface {
	// Commit writes entries, all or none. When it has returned nil they outlive a
	// crash. Calls at the same time share one write to the disk.
	Commit(entries ...Entry) error
	// CommitThen is Commit without waiting. It returns at once; then is called once with
	// the outcome, from any goroutine, and must not block.
	CommitThen(then func(error), entries ...Entry)
}

// ChannelReader reads the rows of channels.
type ChannelReader interface {
	// Channel returns one row, or ErrNoChannel.
	Channel(id common.Hash) (session.Channel, error)
	// OpenChannels visits the rows that are not closed, in the order of their ids.
	OpenChannels(visit func(session.Channel) error) error
	// ChannelsOf returns the ids of a payer's channels that are not closed, at most
	// MaxChannelsOf.
	ChannelsOf(payer common.Address) ([]common.Hash, error)
	// Channels returns up to limit rows in the order of their ids, the first not below
	// from: those that are closed, or those that are not. next is where the list goes on,
	// nil at its end.
	Channels(ended bool, from common.Hash, limit int) (rows []session.Channel, next *common.Hash, err error)
}

// BillReader reads bills, and the tickets that find them.
type BillReader interface {
	// Bill returns one row, or ErrNoBill.
	Bill(id string) (Bill, error)
	// Debts returns the bills of a payer for which Bill.Debt holds, oldest first, at
	// most MaxDebts.
	Debts(payer common.Address) ([]Bill, error)
	// Ticket returns one row, or ErrNoTicket.
	Ticket(key TicketKey) (Ticket, error)
}

// IntentReader reads the intents that are not decided.
type IntentReader interface {
	// Intents returns what was written and not dropped, oldest first.
	Intents() ([]Intent, error)
}
