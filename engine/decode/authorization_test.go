package decode

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

var (
	signerKey, _ = crypto.ToECDSA(common.LeftPadBytes([]byte{7}, 32))
	account      = common.HexToAddress("0x5151000000000000000000000000000000000051")
	signer       = crypto.PubkeyToAddress(signerKey.PublicKey)
)

func authorized(tb testing.TB, chainID, nonce uint64, to common.Address) ethrpc.Authorization {
	tb.Helper()
	s, err := types.SignSetCode(signerKey, types.SetCodeAuthorization{ChainID: *uint256.NewInt(chainID), Address: to, Nonce: nonce})
	if err != nil {
		tb.Fatal(err)
	}
	return ethrpc.Authorization{ChainID: new(big.Int).SetUint64(chainID), Address: to, Nonce: nonce, V: s.V, R: s.R.ToBig(), S: s.S.ToBig()}
}

// TestAuthorizations: what the tuple rules out, what the diff tells, and what neither does.
func TestAuthorizations(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	side := func(nonce *uint64, code string) *ethrpc.Account {
		return &ethrpc.Account{Nonce: nonce, Code: common.FromHex(code)}
	}
	diff := func(pre, post *ethrpc.Account) *ethrpc.StateDiff {
		d := &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{}}
		if pre != nil {
			d.Pre[signer] = pre
		}
		if post != nil {
			d.Post[signer] = post
		}
		return d
	}
	f := func(name string, d *ethrpc.StateDiff, list []ethrpc.Authorization, want ...Outcome) {
		t.Helper()
		var got []Outcome
		for _, a := range Authorizations(&ethrpc.Transaction{From: common.Address{1}, Authorizations: list}, 1, d) {
			got = append(got, a.Outcome)
			if (a.Why == "") != (a.Outcome == Applied) {
				t.Errorf("%s: %s for %q", name, a.Outcome, a.Why)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	list := func(a ...ethrpc.Authorization) []ethrpc.Authorization { return a }
	a5, a6, clear6 := authorized(t, 1, 5, token), authorized(t, 0, 6, account), authorized(t, 1, 6, common.Address{})
	runs := func(a common.Address) string { return "ef0100" + common.Bytes2Hex(a[:]) }
	bad := a5
	bad.S = new(big.Int).Neg(big.NewInt(1))

	f("none", nil, nil)
	f("no diff", nil, list(a5, authorized(t, 9, 5, token), authorized(t, 1, math.MaxUint64, token), bad, ethrpc.Authorization{}), Unknown, Skipped, Skipped, Skipped, Skipped)
	f("applied", diff(side(n(5), ""), side(n(6), runs(token))), list(a5), Applied)
	f("account made by it", diff(nil, side(n(1), runs(token))), list(authorized(t, 1, 0, token)), Applied)
	f("two in order", diff(side(n(5), ""), side(n(7), runs(account))), list(a5, a6), Applied, Applied)
	f("two, the first too early", diff(side(n(5), ""), side(n(6), runs(token))), list(a6, a5), Skipped, Applied)
	f("set and removed", diff(side(n(5), ""), side(n(7), "")), list(a5, clear6), Applied, Applied)
	f("removed", diff(side(n(6), runs(token)), &ethrpc.Account{Nonce: n(7), Code: []byte{}}), list(clear6), Applied)
	f("removed, of an older node", diff(side(n(6), runs(token)), &ethrpc.Account{Nonce: n(7)}), list(clear6), Applied)
	f("untouched", diff(nil, nil), list(a5), Skipped)
	f("used nonce", diff(side(n(6), ""), side(n(7), "")), list(a5), Skipped)
	f("own code", diff(side(n(5), "6001"), &ethrpc.Account{Balance: big.NewInt(1)}), list(a5), Skipped)
	f("later creation", diff(side(n(5), ""), side(n(9), runs(token))), list(a5), Applied)
	f("the diff shows no new nonce", diff(side(n(5), ""), side(nil, "")), list(a5), Unknown)
	f("the diff shows other code", diff(side(n(5), ""), side(n(6), runs(account))), list(a5, authorized(t, 9, 5, token)), Unknown, Skipped)

	sent := &ethrpc.Transaction{From: signer, Authorizations: list(a5, a6)}
	got := Authorizations(sent, 1, diff(side(n(5), ""), side(n(7), runs(account))))
	if got[0].Outcome != Skipped || got[1].Outcome != Applied || *got[1].Authority != signer {
		t.Errorf("the sender's nonce rises first: %+v", got)
	}
}
