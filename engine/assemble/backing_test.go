package assemble

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

var topicTransfer = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))

// sentLog is a transfer event of a token.
func sentLog(token, a, b common.Address, amount int64) ethrpc.Log {
	n := common.BigToHash(big.NewInt(amount))
	return ethrpc.Log{Address: token, Topics: []common.Hash{topicTransfer, common.BytesToHash(a[:]), common.BytesToHash(b[:])}, Data: n[:]}
}

// TestEventsThatNothingBears: a fake event moves nothing in any part of the result, a fee
// that no log tells of lowers the confidence, and a note says each.
func TestEventsThatNothingBears(t *testing.T) {
	six, n := uint8(6), uint64(1)
	slot := func(a common.Address) common.Hash {
		return crypto.Keccak256Hash(common.LeftPadBytes(a[:], 32), make([]byte, 32))
	}
	word := func(v int64) common.Hash { return common.BigToHash(big.NewInt(v)) }
	f := func(note string, transfers int, most api.Confidence, pre, post map[common.Hash]common.Hash) {
		t.Helper()
		ev := evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x0"}`)
		ev.Tx.Value, ev.Tx.Input = new(big.Int), nil
		ev.Receipt.Logs = []ethrpc.Log{sentLog(to, from, miner, 5_000_000)}
		ev.Tokens = map[common.Address]label.Token{to: {Address: to, Symbol: "TKN", Decimals: &six}}
		ev.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{to: {Storage: pre}}, Post: map[common.Address]*ethrpc.Account{from: {Nonce: &n}, to: {Storage: post}}}
		r := Result(ev)
		if len(r.TokenTransfers) != transfers || r.Confidence.Lower(most) != r.Confidence {
			t.Errorf("%s: %d transfers, confidence %s", note, len(r.TokenTransfers), r.Confidence)
		}
		for _, c := range r.BalanceChanges {
			for _, x := range c.Tokens {
				if x.TokenSymbol == "TKN" && transfers == 0 {
					t.Errorf("%s: %s moved %s", note, c.Address, x.Balance)
				}
			}
		}
		if !slices.ContainsFunc(r.Provenance.Notes, func(s string) bool { return strings.HasSuffix(s, note) }) {
			t.Errorf("notes %q, want %q", r.Provenance.Notes, note)
		}
	}
	f("its transfer events are fake and not counted; no storage changed that could keep a balance", 0, api.High, nil, nil)
	f("a fee on transfer that no log tells of: "+miner.Hex()+" moved by 4.5 in its balance slot, by 5 in the logs", 1, api.Medium,
		map[common.Hash]common.Hash{slot(from): word(5_000_000)}, map[common.Hash]common.Hash{slot(miner): word(4_500_000)})
	f("balances are kept in shares, as rebasing tokens do: "+from.Hex()+" moved by -4 in its balance slot, by -5 in the logs", 1, api.High,
		map[common.Hash]common.Hash{slot(from): word(4_000_000)}, map[common.Hash]common.Hash{slot(miner): word(4_000_000)})
	f("logs and state disagree: "+miner.Hex()+" moved by 6 in its balance slot, by 5 in the logs", 1, api.Medium,
		map[common.Hash]common.Hash{slot(from): word(5_000_000)}, map[common.Hash]common.Hash{slot(miner): word(6_000_000)})
}
