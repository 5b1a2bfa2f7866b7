package channel

import (
	"net/netip"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// TestBroadcastRefused: an opening that one of the two limits refuses does not count against
// the other.
func TestBroadcastRefused(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	l := newLimits(PayLimits{OpensPerMinute: 1, OpensPerMinutePerOrigin: 1})
	alice, bob := common.Address{1}, common.Address{2}
	home, away := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	f := func(payer common.Address, origin netip.Prefix, want bool) {
		t.Helper()
		if err := l.broadcast(payer, origin, now); (err == nil) != want {
			t.Errorf("%s from %s: %v", payer, origin, err)
		}
	}
	f(alice, home, true)
	f(bob, home, false)   // by the limit of the address
	f(alice, away, false) // by that of the payer
	f(bob, away, true)
	f(bob, netip.Prefix{}, false)
}
