package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// PayeeFault names what is wrong on the payee's side. A payer is answered 503 for it:
// it is nothing that signing again would mend.
type PayeeFault string

// Faults of the payee.
const (
	// FaultGas: the settling key has too little to pay the fees of its transactions.
	FaultGas PayeeFault = "gas"
	// FaultRefused: the chain refuses a transaction of ours.
	FaultRefused PayeeFault = "refused_transaction"
	// FaultKey: there is no key here that may close the channel.
	FaultKey PayeeFault = "no_key"
	// FaultClock: the clock of this machine and the newest block differ.
	FaultClock PayeeFault = "clock_drift"
	// FaultChain: an endpoint serves another chain.
	FaultChain PayeeFault = "wrong_chain"
	// FaultAway: no endpoint of the settlement chain answers.
	FaultAway PayeeFault = "chain_unreachable"
	// FaultForeign: the chain has paid out what these books never signed for.
	FaultForeign PayeeFault = "foreign_settlement"
)

// payeeFaults are all kinds, what they mean, and what an operator does about them.
var payeeFaults = []struct {
	kind     PayeeFault
	text, do string
}{
	{FaultGas, "the settling key has too little for the fees of settlements",
		"send some of the token that is paid in to the address of the settling key"},
	{FaultRefused, "the chain refuses a transaction of the payee",
		"compare the reason with the channel (txlens channels) and the token's rules for the payee and the payer; the server tries again"},
	{FaultKey, "no key is here that may close a channel",
		"start the server with --settle-key-file, with the key of the payee or of the operator that the challenges name"},
	{FaultClock, "the clock of this machine and the newest block of the settlement chain differ",
		"set the clock of this machine (NTP); where it is right, the endpoint of --settle-rpc lags behind: name another one"},
	{FaultChain, "an endpoint of --settle-rpc serves another chain",
		"make --settle-rpc and --settle-chain name the same chain"},
	{FaultAway, "no endpoint of the settlement chain answers",
		"see whether the endpoints of --settle-rpc can be reached, and name further ones"},
	{
		FaultForeign,
		"the chain has paid out more than this server ever signed for, so another server settles with the same key, or the database is an old copy",
		"stop the other server, or give it a key of its own; where there is none, start this one once with --adopt-channels",
	},
}

// FaultState is what is known of one kind of fault.
type FaultState struct {
	Kind   PayeeFault
	Count  uint64 // how often it was met in this process
	Active bool
	Text   string // what it means
	Do     string // what an operator does about it
}

// faultBoard keeps the faults of the payee. It is safe for concurrent use.
type faultBoard struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	count   map[PayeeFault]uint64
	active  map[PayeeFault]bool
	told    map[PayeeFault]time.Time // when it was logged last
	foreign map[common.Hash]bool     // channels that somebody else settles
}

func newFaultBoard(log *slog.Logger, now func() time.Time) *faultBoard {
	return &faultBoard{
		log: log, now: now, count: map[PayeeFault]uint64{}, active: map[PayeeFault]bool{},
		told: map[PayeeFault]time.Time{}, foreign: map[common.Hash]bool{},
	}
}

// tellAgain is how long a fault that goes on is not logged again.
const tellAgain = 10 * time.Minute

// report counts a fault, and logs it where that is news.
func (b *faultBoard) report(kind PayeeFault, attrs ...any) {
	b.mu.Lock()
	b.count[kind]++
	now := b.now()
	news := !b.active[kind] || now.Sub(b.told[kind]) >= tellAgain
	b.active[kind] = true
	if news {
		b.told[kind] = now
	}
	b.mu.Unlock()
	if news {
		text, do := adviceOn(kind)
		b.log.Error(text, append([]any{"fault", string(kind), "do", do}, attrs...)...)
	}
}

// over ends faults, if they are there.
func (b *faultBoard) over(kinds ...PayeeFault) {
	for _, kind := range kinds {
		b.mu.Lock()
		was := b.active[kind]
		b.active[kind] = false
		b.mu.Unlock()
		if was {
			b.log.Info("fault of the payee is over", "fault", string(kind))
		}
	}
}

func (b *faultBoard) isActive(kind PayeeFault) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.active[kind]
}

func adviceOn(kind PayeeFault) (text, do string) {
	for _, f := range payeeFaults {
		if f.kind == kind {
			return f.text, f.do
		}
	}
	return string(kind), ""
}

// Faults lists all kinds of faults of the payee, in a fixed order.
func (c *Channels) Faults() (list []FaultState) {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	for _, f := range payeeFaults {
		list = append(list, FaultState{Kind: f.kind, Count: c.faults.count[f.kind], Active: c.faults.active[f.kind], Text: f.text, Do: f.do})
	}
	return list
}

// noteForeign keeps whether somebody else settles the channel of a row. Where the
// operator says that the ledger was restored, the next look at the chain acknowledges it.
func (c *Channels) noteForeign(row *session.Channel) {
	if c.o.Adopt {
		return
	}
	b := c.faults
	b.mu.Lock()
	was := b.foreign[row.ID]
	if row.Foreign() {
		b.foreign[row.ID] = true
	} else {
		delete(b.foreign, row.ID)
	}
	none := len(b.foreign) == 0
	b.mu.Unlock()
	switch {
	case row.Foreign() && !was:
		b.report(FaultForeign, "channel", row.ID, "settled", row.Settled, "authorised", row.Authorised)
	case was && none:
		b.over(FaultForeign)
	}
}

// payeeRest is told to a client while the payee has a fault that an operator must mend.
const payeeRest = time.Minute

// refusesWork is why no new paid work is taken, or nil. What ends a channel is always
// taken, and so are vouchers for work that is under way.
func (c *Channels) refusesWork(adm *mpp.Admission) *mpp.Problem {
	if !c.faults.isActive(FaultForeign) {
		return nil
	}
	switch adm.Payload.(type) {
	case *mpp.Close, *mpp.TopUp:
		return nil
	case *mpp.Voucher:
		if adm.Class == mpp.Management {
			return nil
		}
	}
	return &mpp.Problem{Type: mpp.InternalPaymentError, RetryAfter: payeeRest,
		Detail: "This server takes no new work until its operator has looked into its settlements. Nothing was charged."}
}

// payeeError is the error of a transaction of the payee. It is never the payer's fault.
type payeeError struct{ err error }

func (e *payeeError) Error() string { return "transaction of the payee: " + e.err.Error() }
func (e *payeeError) Unwrap() error { return e.err }

// payeeErr reports why a transaction of ours cannot be made or is refused, and marks the
// error as ours. Errors of a chain that does not answer are left as they are.
func (c *Channels) payeeErr(ctx context.Context, err error, ids ...common.Hash) error {
	_, refused := errors.AsType[*settle.Reverted](err)
	mismatch := errors.Is(err, tempo.ErrReceiptEvent)
	switch {
	case errors.Is(err, settle.ErrNoKey):
		c.faults.report(FaultKey, "error", err, "channels", ids)
	case !refused && !mismatch:
		return err
	default:
		kind := FaultRefused
		attrs := []any{"error", err, "channels", ids}
		if h, lookErr := c.o.Escrow.Health(ctx); lookErr == nil && lowOnGas(h) {
			kind, attrs = FaultGas, append(attrs, "key", h.Key, "has", h.Gas, "fee", h.Fee)
		}
		c.faults.report(kind, attrs...)
	}
	return &payeeError{err}
}

// payeeSucceeded is told when a transaction of ours has landed.
func (c *Channels) payeeSucceeded() { c.faults.over(FaultRefused, FaultKey) }

// payeeProblem is an error of ours as the payer may read it.
func payeeProblem(err error) *mpp.Problem {
	return &mpp.Problem{Type: mpp.InternalPaymentError, RetryAfter: payeeRest, Err: err,
		Detail: "The payee cannot send its transaction at the moment. The channel is as it was, and nothing was charged."}
}

// Bounds of what is healthy.
const (
	// enoughCloses is how many channels the settling key should be able to close.
	enoughCloses = 10
	// The clock may be ahead of the newest block by the time between two blocks and the
	// lag of a node, and behind it by next to nothing.
	maxAhead  = 20 * time.Second
	maxBehind = 5 * time.Second
)

func lowOnGas(h settle.Health) bool {
	need, ok := tempo.Amount{}, true
	for range enoughCloses {
		if need, ok = need.Add(h.Fee); !ok {
			return true
		}
	}
	return h.Key != (common.Address{}) && h.Gas.Cmp(need) < 0
}

// checkHealth asks the chain about the payee's ability to settle, and keeps the faults
// that it finds.
func (c *Channels) checkHealth(ctx context.Context) error {
	own, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	h, err := c.o.Escrow.Health(own)
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, settle.ErrWrongChain):
		c.faults.report(FaultChain, "error", err)
		return nil
	case err != nil:
		c.faults.report(FaultAway, "error", err)
		return nil
	}
	c.faults.over(FaultChain, FaultAway)
	c.judge(h)
	if c.health.Swap(&h) == nil {
		c.o.Log.Info(
			"settlement chain",
			"chain",
			c.o.Terms.Domain.ChainID(),
			"block",
			h.Head.Number,
			"clock_ahead",
			h.Drift.Round(time.Second),
			"key",
			h.Key,
			"gas",
			h.Gas,
			"fee",
			h.Fee,
		)
	}
	return nil
}

// healthTime bounds one look at the payee's ability to settle.
const healthTime = 30 * time.Second

func (c *Channels) judge(h settle.Health) {
	if lowOnGas(h) {
		c.faults.report(FaultGas, "key", h.Key, "has", h.Gas, "fee", h.Fee)
	} else {
		c.faults.over(FaultGas)
	}
	if h.Drift > maxAhead || h.Drift < -maxBehind {
		c.faults.report(FaultClock, "clock_ahead", h.Drift.Round(time.Second))
	} else {
		c.faults.over(FaultClock)
	}
}

// Health is what the chain said of the payee's ability to settle when it answered last;
// nil: it has not yet.
func (c *Channels) Health() *settle.Health { return c.health.Load() }

// HealthFaults lists the faults that one look at the chain finds, for who looks before
// a server runs.
func HealthFaults(h settle.Health) (list []FaultState) {
	b := newFaultBoard(slog.New(slog.DiscardHandler), time.Now)
	(&Channels{faults: b}).judge(h)
	return slices.DeleteFunc((&Channels{faults: b}).Faults(), func(f FaultState) bool { return !f.Active })
}

// String is the fault in one line.
func (f FaultState) String() string { return fmt.Sprintf("%s; %s", f.Text, f.Do) }
