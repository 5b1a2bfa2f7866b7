package channel

import (
	"errors"

	"txlens/actors/job"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// Errors of a PaymentStore.
var (
	// ErrNoChannel means that the store has no channel with this id.
	ErrNoChannel = errors.New("channel is not in the ledger")
	// ErrNoBill means that nothing was ever charged for this run or job.
	ErrNoBill = errors.New("no bill")
	// ErrNoTicket means that no request was admitted under this key.
	ErrNoTicket = errors.New("no ticket")
)

// Bill is the price of one run or job and what was paid. It is kept as long as the run or job.
// Amounts are base units.
type Bill struct {
	ID string // id of the run or job, made by recordid.New
	// Payer and Channel of the voucher that began it. They are zero in bills of earlier
	// versions.
	Payer     common.Address
	Channel   common.Hash
	Collected tempo.Amount
	// Price is the whole price if Final, otherwise a lower bound.
	Price tempo.Amount
	Final bool
}

// Debt reports whether the bill is final and not fully paid.
func (b Bill) Debt() bool { return b.Final && !b.Outstanding().IsZero() }

// forNothing reports whether a run or job ended without a result that is paid for.
func (b Bill) forNothing() bool { return b.Final && b.Price.IsZero() }

// Outstanding returns the amount that is still owed.
func (b Bill) Outstanding() tempo.Amount {
	left, _ := b.Price.Sub(b.Collected) // nothing if more was collected
	return left
}

// TicketKey is the hash that identifies equal requests: of channel, cumulative amount or
// Idempotency-Key, route and body; or of payer, route and body alone.
type TicketKey [32]byte

// Ticket records that a request was admitted, and which run or job it began.
type Ticket struct {
	Key     TicketKey
	Bill    string // id of the run or job that it began
	Charged tempo.Amount
}

// IntentKind is the purpose of a transaction of the payee.
type IntentKind string

const (
	IntentSettle IntentKind = "settle"
	IntentClose  IntentKind = "close"
)

// Intent is stored before a transaction is sent, so that its outcome can be found after a
// crash. Raw is signed and expires; sending it twice has the same effect as once.
type Intent struct {
	ID          string // made by recordid.New
	Kind        IntentKind
	Channels    []common.Hash
	Amounts     []tempo.Amount // per channel: cumulative amount of a settlement, capture of a close
	Raw         []byte
	Hash        common.Hash
	ValidBefore int64 // Unix seconds
}

// Entry is written completely or not at all. Rows that are nil stay unchanged.
type Entry struct {
	Channel *session.Channel // replaces the row
	Bill    *Bill            // replaces the row
	Ticket  *Ticket          // replaces the row
	Request *Ticket          // a second ticket: finds the run of the same request with another voucher
	Intent  *Intent
	Run     *job.RunRow // the record of the run that Bill is for, of class job.RunPaid
	// Drop deletes an intent by id; empty: none.
	Drop string
	// Forget deletes a channel whose opening failed; nil: none.
	Forget *common.Hash
	// Void and VoidRequest delete a ticket; nil: none.
	Void        *TicketKey
	VoidRequest *TicketKey

	// volatile: only fields of the row that are not stored have changed
	volatile bool
}

func (e Entry) empty() bool { return e == Entry{} || e == Entry{volatile: true} }

// Limits of the lists for one payer.
const (
	MaxDebts      = 64
	MaxChannelsOf = 64
)

// PaymentStore stores channels, bills, tickets and intents. All parts must be one database:
// the readers return what the Writer wrote. It is safe for concurrent use, but two changes of
// one row must not run at the same time.
type PaymentStore struct {
	Writer
	ChannelReader
	BillReader
	IntentReader
}

// StoreOf returns a PaymentStore whose parts are all s.
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
	// Commit writes entries, all or none. If it returns nil they survive a crash. Concurrent
	// calls share one disk write.
	Commit(entries ...Entry) error
	// CommitThen is Commit without waiting. It returns at once. then is called once with the
	// outcome, on any goroutine, and must not block.
	CommitThen(then func(error), entries ...Entry)
}

// ChannelReader reads the rows of channels.
type ChannelReader interface {
	// Channel returns one row, or ErrNoChannel.
	Channel(id common.Hash) (session.Channel, error)
	// OpenChannels calls visit with the rows of open channels, in the order of their ids.
	OpenChannels(visit func(session.Channel) error) error
	// ChannelsOf returns the ids of a payer's open channels, at most MaxChannelsOf.
	ChannelsOf(payer common.Address) ([]common.Hash, error)
	// Channels returns up to limit rows in the order of their ids, beginning at from: closed
	// channels if ended is set, open ones otherwise. next is the id to continue from, nil at
	// the end of the list.
	Channels(ended bool, from common.Hash, limit int) (rows []session.Channel, next *common.Hash, err error)
}

// BillReader reads bills and tickets.
type BillReader interface {
	// Bill returns one row, or ErrNoBill.
	Bill(id string) (Bill, error)
	// Debts returns the bills of a payer for which Bill.Debt holds, oldest first, at most
	// MaxDebts.
	Debts(payer common.Address) ([]Bill, error)
	// BillsAfter returns up to limit bills with ids above an id, which may be empty, in the
	// order of their ids.
	BillsAfter(id string, limit int) ([]Bill, error)
	// Ticket returns one row, or ErrNoTicket.
	Ticket(key TicketKey) (Ticket, error)
}

// IntentReader reads the intents whose outcome is unknown.
type IntentReader interface {
	// Intents returns the stored intents that were not deleted, oldest first.
	Intents() ([]Intent, error)
}
