package main

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
	"txlens/transport/admin"
)

// TestTotalsByToken: sums of several tokens are told apart.
func TestTotalsByToken(t *testing.T) {
	in := func(token byte, settled, unsettled uint64) admin.Channel {
		return admin.Channel{Token: common.Address{token}, Settled: tempo.AmountFrom(settled), Unsettled: tempo.AmountFrom(unsettled)}
	}
	f := func(want string, list ...admin.Channel) {
		t.Helper()
		if got := totalsByToken(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("")
	f("", in(1, 5, 6), in(1, 7, 8))
	f("Token 0x0100000000000000000000000000000000000000: 1.50 settled, 0.25 unsettled.\n"+
		"Token 0x0200000000000000000000000000000000000000: 3.00 settled, 0.00 unsettled.\n", in(2, 3_000_000, 0), in(1, 1_000_000, 250_000), in(1, 500_000, 0))
}
