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

// PayLimits bound what one party can make the service do. A zero rate means no limit.
type PayLimits struct {
	// VouchersPerSecond bounds the vouchers that raise one channel. A voucher beyond
	// it waits for up to voucherWait, and is then refused with 429.
	VouchersPerSecond float64
	// OpensPerMinute bounds the openings and top-ups that one payer has broadcast.
	OpensPerMinute float64
	// OpensPerMinutePerOrigin is the same for one network address, see
	// PayRequest.Origin.
	OpensPerMinutePerOrigin float64
}

// DefaultPayLimits are those of a server that nobody configured.
var DefaultPayLimits = PayLimits{VouchersPerSecond: 10, OpensPerMinute: 12, OpensPerMinutePerOrigin: 60}

const (
	// voucherBurst is how many vouchers may come at once on a channel.
	voucherBurst = 30
	// voucherWait bounds how long a voucher beyond the rate waits.
	voucherWait = 2 * time.Second
	// maxUnknown bounds the channels that are remembered as unknown.
	maxUnknown = 8192
	// unknownTTL is how long the chain is not asked again for a channel that it did
	// not know.
	unknownTTL = 5 * time.Second
	// lookupsPerSecond bounds the look-ups of unknown channels from one origin.
	lookupsPerSecond, lookupBurst = 2, 10
)

// limits are the limiters behind PayLimits. It is safe for concurrent use.
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

// voucher waits for the turn of a voucher that raises a channel.
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

// broadcast counts a payer's transaction that is about to be sent for it.
func (l *limits) broadcast(payer common.Address, origin netip.Prefix, now time.Time) error {
	if _, ok := l.payers.Take(payer, now, 0); !ok {
		return mpp.RateLimited(time.Minute, "Too many openings and top-ups by this payer.")
	}
	if !origin.IsValid() {
		return nil
	}
	if _, ok := l.origins.Take(origin, now, 0); !ok {
		return mpp.RateLimited(time.Minute, "Too many openings and top-ups from this address.")
	}
	return nil
}

// lookup counts a look at the chain for a channel that is not in the ledger. mayAsk is
// false where the chain did not know it a moment ago.
func (l *limits) lookup(channel common.Hash, origin netip.Prefix, now time.Time) (mayAsk bool, err error) {
	if l.unknown.has(channel, now) {
		return false, nil
	}
	if _, ok := l.lookups.Take(origin, now, 0); !ok {
		return false, mpp.RateLimited(time.Second, "Too many requests for unknown channels.")
	}
	return true, nil
}

// missing are channels that the chain did not know lately.
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
