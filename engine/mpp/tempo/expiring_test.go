package tempo

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// expiringVector is T6 with another nonce or another signer of vouchers, signed again.
func expiringVector(t *testing.T, change func(*Transaction, *OpenCall)) *Transaction {
	t.Helper()
	tx := decoded(t, "T6")
	call, err := DecodeReserveCall(tx.Calls[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	open := call.(OpenCall)
	change(tx, &open)
	tx.Calls[0].Data = open.Calldata()
	if err := tx.Sign(payer, anvil[0]); err != nil {
		t.Fatal(err)
	}
	return tx
}

// TestExpiringNonceVectors: the nonce of an expiring transaction is in its hashes, and so in
// the id of the channel that it opens.
func TestExpiringNonceVectors(t *testing.T) {
	f := func(name string, nonce uint64, preimage int, hash, signHash, nonceHash, channelID string) {
		t.Helper()
		tx := expiringVector(t, func(tx *Transaction, _ *OpenCall) { tx.Nonce = nonce })
		if p := tx.SenderPreimage(); preimage != 0 && (len(p) != preimage || p[0] != 0x76 || p[1] != 0xf9 || p[2] != 1 || int(p[3]) != preimage-4-256) {
			t.Errorf("%s: preimage of %d bytes: %x", name, len(p), p[:4])
		}
		if hash != "" && tx.Hash() != common.HexToHash(hash) {
			t.Errorf("%s: hash %s", name, tx.Hash())
		}
		if signHash != "" && tx.SignHash() != common.HexToHash(signHash) {
			t.Errorf("%s: sign hash %s", name, tx.SignHash())
		}
		d, _, err := OpenedBy(tx, payer)
		if err != nil || d.ExpiringNonceHash != common.HexToHash(nonceHash) || moderato.ChannelID(d) != common.HexToHash(channelID) {
			t.Errorf("%s: opens %+v, %s, %v", name, d, moderato.ChannelID(d), err)
		}
		again, err := DecodeTransaction(tx.Encode())
		if err != nil || again.Nonce != nonce || !bytes.Equal(again.Encode(), tx.Encode()) {
			t.Errorf("%s: decoded again %+v, %v", name, again, err)
		}
	}
	if tx := decoded(t, "T6"); tx.Nonce != 0xe4cf32603841 || tx.ValidBefore != 0x6b075a1e || tx.ValidAfter != 0 || !tx.IsExpiring() {
		t.Errorf("T6 decodes as %+v", tx)
	}
	if tx := expiringVector(t, func(*Transaction, *OpenCall) {}); !bytes.Equal(tx.Encode(), vector(t, "T6")) {
		t.Errorf("T6 signed again is %x", tx.Encode())
	}
	f("T6", 0xe4cf32603841, 316, "0x30c824c52b73626c1c5368729ebf00cb10df6a9f1d6ef3a879473ed41e7c7774",
		"0x10203d2948a9b0874d852999c1f4b60dcc86ea968509911049aff937a42d0c4a",
		"0x1ffc450f8d3634f6ce33978c1205d9514910429fd30ad8431d2b88df880c05f1",
		"0x72a390c3af878538c9345b18386647a44dabd9d9b4aac4709a5d9a0ff71dcf3e")
	f("T7", math.MaxUint64, 318, "0x121f4ebd2f6cb89275d6612c21a961aba1056b10c261fec8caec1d2cedb9d705",
		"0x75d04bec5b8d783637d085d76441f2452b6f1d54fa54978422f4e394d74fdebf",
		"0x5b1b796f94a10a13f9b857e454be434da94309bcc7a73f32bc8aca8de78dd584",
		"0x84374f3bf3fc5e8ed4175ffdaecf92d42c8149bf9415c3ce57747da3fc160c38")
	f("nonce 0", 0, 0, "", "", "0xf3b08cf72eb2d3d26cec74c08387862be32eee1ab52e03169bbd544133c86ea6",
		"0x5891da694384861e4c24662dd4e8267082372a0cf1da0eb54150724d38689472")
}

// TestCloseByAccessKey is T8: a close is signed by the access key raw, not as its account.
func TestCloseByAccessKey(t *testing.T) {
	signer := common.HexToAddress("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC")
	d, _, err := OpenedBy(expiringVector(t, func(_ *Transaction, call *OpenCall) { call.AuthorizedSigner = signer }), payer)
	id := moderato.ChannelID(d)
	if err != nil || d.ExpiringNonceHash != common.HexToHash("0x4ea138e4373ebe73ae14971a938f0c54d175ce82a643a1aefd82c2362520327d") ||
		id != common.HexToHash("0xee611577dcfb45a9ac73b24e9c3338fd9588f8ff517cb1a0283fbd48e70aaa00") {
		t.Fatalf("opens %+v, %s, %v", d, id, err)
	}
	amount := AmountFrom(70000)
	if got := moderato.Digest(id, amount); got != common.HexToHash("0xec3f8a15be19958e5dc12aa0a71de2e038216a44f677c9c3812bf6e0b10a2f7e") {
		t.Errorf("digest %s", got)
	}
	f := func(text string, want bool) {
		t.Helper()
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSignature(raw)
		if err == nil {
			err = moderato.Verify(id, amount, s, d.Signer())
		}
		if (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	f("a757305bbe268da05dfcacaaaaf22d3a57b7f864dab357b1e6db0f6a18afb10d7cfb424a9ffe995529306b82e4b4cdbe0417094d44d1a478ed85d26452041fa31b", true)
	f("04f39fd6e51aad88f6f4ce6ab8827279cfffb92266ddd18f8909faaf63895c12c30216e1ebaaabc3b8e25c77160e90121393a44a0038c29145a7dbc0a2baf38ad0fb973c7cfaa090f2118fa5e2a85f14854f3347fc1b", false)
}
