package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

func TestVectorsAreRead(t *testing.T) {
	f := func(raw string, hash, signHash, nonceHash, sender, feePayer string) {
		t.Helper()
		tx, err := ReadTransaction(common.FromHex(raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what      string
			got, want any
		}{
			{"hash", tx.Hash.Hex(), hash}, {"sign hash", tx.SignHash.Hex(), signHash}, {"nonce hash", tx.ExpiringNonceHash.Hex(), nonceHash},
			{"sender", tx.Sender, common.HexToAddress(sender)}, {"fee payer", tx.FeePayer, common.HexToAddress(feePayer)},
		} {
			if c.want != "" && c.got != c.want {
				t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
			}
		}
	}
	const a0, a1 = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	f(t1SelfPaidOpen, "0x58e056c96d6f2b17cbaa84574976c9337fbcdb563736d371db20dcb0da8f0d89",
		"0xb2a3173d661489fedd574cbcc6f2feab2400e2d53946fa1423c4a2e20e4fc02d",
		"0x7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09", a0, a0)
	f(t2HandOff, "", "0x4192bcb7f097508a3116139d5ba25bfe3f2a2524e74fe9666ce9ac54e5af1d2a",
		"0x899d68607dd886c1e47e63116a5785f577a02c688da98347e873de5b3f377d16", a0, a0)
	f(t3CoSigned, "0xaadc67880cc771dac0c2ace324a897bb3a01f822d4089535d88f318aaef7583c",
		"0x4192bcb7f097508a3116139d5ba25bfe3f2a2524e74fe9666ce9ac54e5af1d2a",
		"0x899d68607dd886c1e47e63116a5785f577a02c688da98347e873de5b3f377d16", a0, a1)
	f(t4TopUp, "0x9eeed9d381ccd1516304583d7d1d6c9a4b6f679a3f258df7bf8f1e8077a17aec", "", "", a0, a0)
	f(t5Close, "0xeb705fc89601c3f54f609b14e4da4b64b36d57f40d301931311bdb818cb0b3f6", "", "", a1, a1)
}

// The recorded session is mined whole: open, top-up, close, and a sponsored open.
func TestVectorsAreMined(t *testing.T) {
	w := newWorld(t, Options{})
	send := func(raw string) *receiptJSON {
		t.Helper()
		r, err := w.sendRaw(common.FromHex(raw))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != 1 {
			t.Fatalf("reverted: %s", r.RevertReason)
		}
		return r
	}
	opened := send(t1SelfPaidOpen)
	log := reserveLog(t, opened)
	wantTopics := []string{openedEvent.Hex(), "0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518",
		addressKey(payer.address()).Hex(), addressKey(payee.address()).Hex()}
	for i, want := range wantTopics {
		if log.Topics[i].Hex() != want {
			t.Errorf("topic %d: %s, want %s", i, log.Topics[i], want)
		}
	}
	wantData := "0000000000000000000000000000000000000000000000000000000000000000" +
		"00000000000000000000000020c0000000000000000000000000000000000000" +
		"000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266" +
		"1c42329e65903c6e8a68783ea98ddf86a783899a714c2a44072484e13254097b" +
		"7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09" +
		"000000000000000000000000000000000000000000000000000000000007a120"
	if got := common.Bytes2Hex(log.Data); got != wantData {
		t.Errorf("data of ChannelOpened:\n%s, want\n%s", got, wantData)
	}
	send(t4TopUp)
	before := w.holds(payee)
	closed := send(t5Close)
	fee := feeOf(uint64(closed.GasUsed), uint256.Int(*closed.EffectiveGasPrice))
	if got := w.holds(payee) - before + fee.Uint64(); got != 600_000 {
		t.Errorf("the payee got %d, want 600000", got)
	}
	if got := reserveLog(t, closed); got.Topics[0] != closedEvent || common.Bytes2Hex(got.Data) != common.Bytes2Hex(wordsOf(u(600_000), u(400_000))) {
		t.Errorf("ChannelClosed: %+v", got)
	}
	w.clock.at = w.clock.at.Add(20_000_000_000) // 20 s: the sponsored open is of a later minute
	sponsored := send(t3CoSigned)
	if sponsored.FeePayer != payee.address() || sponsored.From != payer.address() {
		t.Errorf("fee payer %s, from %s", sponsored.FeePayer, sponsored.From)
	}
	if _, err := w.sendRaw(common.FromHex(t2HandOff)); err == nil || !strings.Contains(err.Message, "hand-off") {
		t.Errorf("a hand-off was taken: %v", err)
	}
	w.wantBalanced()
}

// reserveLog finds the one log of the reserve.
func reserveLog(t *testing.T, r *receiptJSON) logJSON {
	t.Helper()
	var found []logJSON
	for _, l := range r.Logs {
		if l.Address == Reserve {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d logs of the reserve: %+v", len(found), r.Logs)
	}
	return found[0]
}

// Every change of a signed transaction changes its sender or breaks it; none is read
// as the same sender's.
func TestChangedBytesAreNotTheSenders(t *testing.T) {
	for _, vector := range []string{t1SelfPaidOpen, t3CoSigned, t5Close} {
		raw := common.FromHex(vector)
		honest, err := ReadTransaction(raw)
		if err != nil {
			t.Fatal(err)
		}
		same := 0
		for at := range raw {
			for _, flip := range []byte{0x01, 0x80} {
				changed := append([]byte(nil), raw...)
				changed[at] ^= flip
				tx, err := ReadTransaction(changed)
				if err != nil {
					if !errors.Is(err, ErrTransaction) {
						t.Fatalf("byte %d: error of another kind: %v", at, err)
					}
					continue
				}
				if tx.Sender == honest.Sender && tx.FeePayer == honest.FeePayer {
					same++
					t.Errorf("byte %d flipped by %#x: still of %s", at, flip, tx.Sender)
				}
			}
		}
	}
}
