package decode_test

import (
	"testing"

	"txlens/engine/decode"

	"github.com/ethereum/go-ethereum/common"
)

// TestCalldata: what a known function encodes to is named, whether or not the account is known;
// anything else has no name.
func TestCalldata(t *testing.T) {
	transfer := common.FromHex("a9059cbb000000000000000000000000222222222222222222222222222222222222222200000000000000000000000000000000000000000000000000000000017d7840")
	f := func(to common.Address, data []byte, want string, args int) {
		t.Helper()
		if c := decode.Calldata(to, data); c == nil || c.Signature != want || len(c.Args) != args {
			t.Errorf("%x: %+v, want %s", data, c, want)
		}
	}
	f(common.Address{}, transfer, "transfer(address,uint256)", 2)
	f(common.Address{7}, transfer, "transfer(address,uint256)", 2)
	f(common.Address{7}, transfer[:40], "", 0)
	f(common.Address{7}, []byte{1, 2, 3, 4}, "", 0)
	f(common.Address{7}, []byte("hi"), "", 0)
	f(common.Address{7}, nil, "", 0)
}
