package channel

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/buckets"
	"txlens/engine/mpp"
)

// PayLimits limit the work that one party can cause. A zero rate means no limit.
type PayLimits struct {
	// VouchersPerSecond limits the vouchers that raise one channel. A voucher above the rate
	// waits for up to voucherWait and is then refused with 429.
	VouchersPerSecond float64
	// OpensPerMinute limits the openings and top-ups that are broadcast for one payer.
	OpensPerMinute float64
	// OpensPerMinutePerOrigin is the same for one network address, see PayRequest.Origin.
	OpensPerMinutePerOrigin float64
}

// DefaultPayLimits are the limits of a server without settings.
var DefaultPayLimits = PayLimits{VouchersPerSecond: 10, OpensPerMinute: 12, OpensPerMinutePerOrigin: 60}

const (
	// voucherBurst is the number of vouchers that a channel may send at once.
	voucherBurst = 30
	// voucherWait is the longest wait of a voucher above the rate.
	voucherWait = 2 * time.Second
	// maxUnknown limits the number of remembered unknown channels.
	maxUnknown = 8192
	// unknownTTL is how long an unknown channel is remembered before the chain is asked again.
	unknownTTL = 5 * time.Second
	// lookupsPerSecond limits the look-ups of unknown channels from one origin.
	lookupsPerSecond, lookupBurst = 2, 10
)

// limits holds the rate limiters of PayLimits. It is safe for concurrent use.
type limits struct {
	vouchers *buckets.Set[common.Hash]
	payers   *buckets.Set[common.Address]
	origins  *buckets.Set[netip.Prefix]
	lookups  *buckets.Set[netip.Prefix]
	unknown  *missing
}

func newLimits(l PayLimits) *limits {
	return &limits{
		vouchers: buckets.New[common.Hash](l.VouchersPerSecond, voucherBurst),
		payers:   buckets.New[common.Address](l.OpensPerMinute/60, int(l.OpensPerMinute)),
		origins:  buckets.New[netip.Prefix](l.OpensPerMinutePerOrigin/60, int(l.OpensPerMinutePerOrigin)),
		lookups:  buckets.New[netip.Prefix](lookupsPerSecond, lookupBurst),
		unknown:  &missing{until: make(map[common.Hash]time.Time)},
	}
}

// voucher waits until a voucher that raises a channel is within the rate.
func (l *limits) voucher(ctx context.Context, channel common.Hash, now time.Time) error {
	wait, ok := l.vouchers.Take(channel, now, voucherWait)
	if !ok {
		return mpp.RateLimited(voucherWait, "Too many vouchers on this channel: sign for larger sums less often.")
	}
	if wait == 0 {
		return nil
	}
	turn := time.NewTimer(wait)
	defer turn.Stop()
	select {
	case <-turn.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// broadcast counts a transaction that is about to be sent for a payer. What is refused does not
// count.
func (l *limits) broadcast(payer common.Address, origin netip.Prefix, now time.Time) error {
	_, undo, ok := l.payers.Reserve(payer, now, 0)
	if !ok {
		return mpp.RateLimited(time.Minute, "Too many openings and top-ups by this payer.")
	}
	if !origin.IsValid() {
		return nil
	}
	if _, ok := l.origins.Take(origin, now, 0); !ok {
		undo()
		return mpp.RateLimited(time.Minute, "Too many openings and top-ups from this address.")
	}
	return nil
}

// lookup counts a chain look-up of a channel that is not in the ledger. mayAsk is false if the
// chain did not know the channel a moment ago.
func (l *limits) lookup(channel common.Hash, origin netip.Prefix, now time.Time) (mayAsk bool, err error) {
	if l.unknown.has(channel, now) {
		return false, nil
	}
	if _, ok := l.lookups.Take(origin, now, 0); !ok {
		return false, mpp.RateLimited(time.Second, "Too many requests for unknown channels.")
	}
	return true, nil
}

// missing remembers channels that the chain did not know.
type missing struct {
	mu    sync.Mutex
	until map[common.Hash]time.Time
}

func (m *missing) has(id common.Hash, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Before(m.until[id])
}

func (m *missing) add(id common.Hash, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.until) >= maxUnknown {
		for id, until := range m.until {
			if !now.Before(until) {
				delete(m.until, id)
			}
		}
		if len(m.until) >= maxUnknown {
			clear(m.until)
		}
	}
	m.until[id] = now.Add(unknownTTL)
}
