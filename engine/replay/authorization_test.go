package replay

import (
	"context"
	"crypto/ecdsa"
	"math/big"
	"math/rand/v2"
	"testing"

	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/gethdata"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// numbered is a memory whose accounts have nonces.
type numbered struct {
	*memory
	nonces map[common.Address]uint64
}

func (n numbered) Nonce(_ context.Context, a common.Address) (uint64, error) { return n.nonces[a], nil }

// signedAuthorization is an entry of an authorization list with a true signature.
func signedAuthorization(t *testing.T, key *ecdsa.PrivateKey, chainID, nonce uint64, to common.Address) ethrpc.Authorization {
	t.Helper()
	s, err := types.SignSetCode(key, types.SetCodeAuthorization{ChainID: *uint256.NewInt(chainID), Address: to, Nonce: nonce})
	if err != nil {
		t.Fatal(err)
	}
	return ethrpc.Authorization{ChainID: new(big.Int).SetUint64(chainID), Address: to, Nonce: nonce, V: s.V, R: s.R.ToBig(), S: s.S.ToBig()}
}

// TestAuthorizationsAgreeWithTheEVM runs random authorization lists entry by entry: the
// entry that raises its signer's nonce was applied, and no other.
func TestAuthorizationsAgreeWithTheEVM(t *testing.T) {
	var keys []*ecdsa.PrivateKey
	var who []common.Address
	for i := range 4 {
		key, err := crypto.ToECDSA(common.LeftPadBytes([]byte{byte(i + 1)}, 32))
		if err != nil {
			t.Fatal(err)
		}
		keys, who = append(keys, key), append(who, crypto.PubkeyToAddress(key.PublicKey))
	}
	to := common.HexToAddress("0x5000000000000000000000000000000000000005")
	// The first sends the transaction, the second has code, the third delegates already.
	code := map[common.Address][]byte{contract: {0}, who[1]: {0}, who[2]: append([]byte{0xef, 1, 0}, contract[:]...)}
	nonces := map[common.Address]uint64{who[0]: 7, who[1]: 1, who[2]: 3}
	zero := uint64(0)
	run := func(list []ethrpc.Authorization) (*ethrpc.Transaction, *ethrpc.StateDiff) {
		t.Helper()
		blk, tx, st := made()
		blk.Number, blk.Timestamp, blk.Difficulty, blk.ExcessBlobGas, blk.ParentBeaconRoot = 22_800_000, 1_751_000_000, new(big.Int), &zero, &common.Hash{}
		st.code, st.rich = code, who[0]
		tx.From, tx.Type, tx.Nonce, tx.Authorizations, tx.MaxFee, tx.MaxTip = who[0], 4, 7, list, big.NewInt(1), new(big.Int)
		res, err := Run(t.Context(), mainnet(t), blk, tx, nil, numbered{st, nonces}, trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return tx, res.StateDiff
	}
	nonceOf := func(diff *ethrpc.StateDiff, a common.Address) uint64 {
		if p := diff.Post[a]; p != nil && p.Nonce != nil {
			return *p.Nonce
		}
		return nonces[a]
	}
	random := rand.New(rand.NewPCG(7, 702))
	count := map[decode.Outcome]int{}
	for range 25 {
		var list []ethrpc.Authorization
		_, before := run([]ethrpc.Authorization{signedAuthorization(t, keys[3], 99, 0, to)}) // an empty list is no such transaction
		for range 7 {
			k := random.IntN(len(keys))
			next := signedAuthorization(t, keys[k], []uint64{0, 1, 1, 1, 5}[random.IntN(5)], nonceOf(before, who[k])+[]uint64{0, 0, 0, 1}[random.IntN(4)], []common.Address{to, contract, {}}[random.IntN(3)])
			if random.IntN(12) == 0 {
				next.S = new(big.Int).Sub(crypto.S256().Params().N, next.S) // the high half is refused
			}
			list = append(list, next)
			tx, diff := run(list)
			got := decode.Authorizations(tx, 1, diff)[len(list)-1]
			want := decode.Skipped
			if nonceOf(diff, who[k]) > nonceOf(before, who[k]) {
				want = decode.Applied
			}
			if got.Outcome != want {
				t.Errorf("entry %d, %s for nonce %d: %s (%s), the EVM says %s", len(list)-1, who[k], next.Nonce, got.Outcome, got.Why, want)
			}
			count[got.Outcome]++
			before = diff
		}
	}
	if count[decode.Applied] < 20 || count[decode.Skipped] < 20 {
		t.Errorf("the lists say little: %v", count)
	}
	t.Log(count)
}

// TestAuthorizationsOfRecordedTransactions: no outcome of go-ethereum's own cases is left open.
func TestAuthorizationsOfRecordedTransactions(t *testing.T) {
	f := func(name string, want ...decode.Outcome) {
		t.Helper()
		c := gethdata.Get(t, name)
		res := rerun(t, c, mainnet(t), Options{Config: c.Config})
		got := decode.Authorizations(c.Tx, c.Config.ChainID.Uint64(), res.StateDiff)
		if len(got) != len(want) {
			t.Fatalf("%s: %d authorizations, want %d", name, len(got), len(want))
		}
		for i := range want {
			if got[i].Outcome != want[i] {
				t.Errorf("%s: %d is %s (%s), want %s", name, i, got[i].Outcome, got[i].Why, want[i])
			}
		}
	}
	f(gethdata.Delegated7702, decode.Applied)
	f("prestate_tracer/setcode_tx.json", decode.Applied, decode.Applied)
	f("prestate_tracer_with_diff_mode/eip7702_deauth.json", decode.Applied)
}
