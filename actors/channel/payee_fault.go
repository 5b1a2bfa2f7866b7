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

// PayeeFault is a fault on the payee's side. The payer gets status 503, because signing again
// would not help.
type PayeeFault string

// Faults of the payee.
const (
	// FaultGas means that the settling key has too little to pay transaction fees.
	FaultGas PayeeFault = "gas"
	// FaultRefused means that the chain rejects a transaction of the payee.
	FaultRefused PayeeFault = "refused_transaction"
	// FaultKey means that there is no key that may close the channel.
	FaultKey PayeeFault = "no_key"
	// FaultClock means that the clock of this machine and the newest block differ.
	FaultClock PayeeFault = "clock_drift"
	// FaultChain means that an endpoint serves another chain.
	FaultChain PayeeFault = "wrong_chain"
	// FaultAway means that no endpoint of the settlement chain answers.
	FaultAway PayeeFault = "chain_unreachable"
	// FaultForeign means that the chain has paid out more than this ledger signed for.
	FaultForeign PayeeFault = "foreign_settlement"
)

// payeeFaults lists all kinds with their meaning and the action for the operator.
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

// FaultState is the state of one kind of fault.
type FaultState struct {
	Kind    PayeeFault
	Count   uint64 // number of occurrences in this process
	Active  bool
	Meaning string // meaning
	Action  string // action for the operator
}

// faultLog holds the faults of the payee. It is safe for concurrent use.
type faultLog struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex
	count      map[PayeeFault]uint64
	active     map[PayeeFault]bool
	lastLogged map[PayeeFault]time.Time // time of the last log line
	foreign    map[common.Hash]bool     // channels that another server settles
}

func newFaultBoard(log *slog.Logger, now func() time.Time) *faultLog {
	return &faultLog{
		log: log, now: now, count: map[PayeeFault]uint64{}, active: map[PayeeFault]bool{},
		lastLogged: map[PayeeFault]time.Time{}, foreign: map[common.Hash]bool{},
	}
}

// logAgainAfter is the time between two log lines of a fault that continues.
const logAgainAfter = 10 * time.Minute

// report counts a fault and logs it if it is new or was not logged for tellAgain.
func (b *faultLog) report(kind PayeeFault, attrs ...any) {
	b.mu.Lock()
	b.count[kind]++
	now := b.now()
	news := !b.active[kind] || now.Sub(b.lastLogged[kind]) >= logAgainAfter
	b.active[kind] = true
	if news {
		b.lastLogged[kind] = now
	}
	b.mu.Unlock()
	if news {
		text, do := adviceOn(kind)
		b.log.Error(text, append([]any{"fault", string(kind), "do", do}, attrs...)...)
	}
}

// end ends faults, if they are present.
func (b *faultLog) end(kinds ...PayeeFault) {
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

func (b *faultLog) isActive(kind PayeeFault) bool {
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
		list = append(list, FaultState{
			Kind: f.kind, Count: c.faults.count[f.kind], Active: c.faults.active[f.kind], Meaning: f.text, Action: f.do,
		})
	}
	return list
}

// noteForeign records whether another server settles the channel of a row. If the operator
// declared that the ledger was restored, the next look-up acknowledges it instead.
func (c *Channels) noteForeign(row *session.Channel) {
	if c.options.Adopt {
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
		b.end(FaultForeign)
	}
}

// payeeRetryAfter is the Retry-After of an answer while the payee has a fault that an operator must
// repair.
const payeeRetryAfter = time.Minute

// refusesWork returns why new paid work is refused, or nil. Credentials that end a channel and
// vouchers for running work are always accepted.
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
	return &mpp.Problem{Type: mpp.InternalPaymentError, RetryAfter: payeeRetryAfter,
		Detail: "This server takes no new work until its operator has looked into its settlements. Nothing was charged."}
}

// payeeError is the error of a transaction of the payee. It is never the payer's fault.
type payeeError struct{ err error }

func (e *payeeError) Error() string { return "transaction of the payee: " + e.err.Error() }
func (e *payeeError) Unwrap() error { return e.err }

// payeeErr records why a transaction of the payee cannot be made or was rejected, and marks
// the error as the payee's. Errors of a chain that does not answer stay unchanged.
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
		if h, lookErr := c.options.Escrow.Health(ctx); lookErr == nil && lowOnGas(h) {
			kind, attrs = FaultGas, append(attrs, "key", h.Key, "has", h.Gas, "fee", h.Fee)
		}
		c.faults.report(kind, attrs...)
	}
	return &payeeError{err}
}

// payeeSucceeded ends the faults that a successful transaction of the payee disproves.
func (c *Channels) payeeSucceeded() { c.faults.end(FaultRefused, FaultKey) }

// payeeProblem returns the error that the payer sees for a fault of the payee.
func payeeProblem(err error) *mpp.Problem {
	return &mpp.Problem{Type: mpp.InternalPaymentError, RetryAfter: payeeRetryAfter, Err: err,
		Detail: "The payee cannot send its transaction at the moment. The channel is as it was, and nothing was charged."}
}

// Limits of a healthy payee.
const (
	// enoughCloses is the number of channels that the balance of the settling key must suffice
	// to close.
	enoughCloses = 10
	// The clock may be ahead of the newest block by the time between two blocks and the lag of
	// a node, and behind it by very little.
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

// checkHealth asks the chain whether the payee is able to settle, and records the faults.
func (c *Channels) checkHealth(ctx context.Context) error {
	own, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	h, err := c.options.Escrow.Health(own)
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
	c.faults.end(FaultChain, FaultAway)
	c.judge(h)
	if c.health.Swap(&h) == nil {
		c.options.Log.Info(
			"settlement chain",
			"chain",
			c.options.Terms.Domain.ChainID(),
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

// healthTimeout is the time limit of one health check.
const healthTimeout = 30 * time.Second

func (c *Channels) judge(h settle.Health) {
	if lowOnGas(h) {
		c.faults.report(FaultGas, "key", h.Key, "has", h.Gas, "fee", h.Fee)
	} else {
		c.faults.end(FaultGas)
	}
	if h.Drift > maxAhead || h.Drift < -maxBehind {
		c.faults.report(FaultClock, "clock_ahead", h.Drift.Round(time.Second))
	} else {
		c.faults.end(FaultClock)
	}
}

// Health returns the last answer of the chain about the payee's ability to settle; nil: there
// was none yet.
func (c *Channels) Health() *settle.Health { return c.health.Load() }

// HealthFaults lists the faults in one health report. It is for checks before a server runs.
func HealthFaults(h settle.Health) (list []FaultState) {
	b := newFaultBoard(slog.New(slog.DiscardHandler), time.Now)
	(&Channels{faults: b}).judge(h)
	return slices.DeleteFunc((&Channels{faults: b}).Faults(), func(f FaultState) bool { return !f.Active })
}

// String describes the fault in one line.
func (f FaultState) String() string { return fmt.Sprintf("%s; %s", f.Meaning, f.Action) }
