package mpp

import (
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

const (
	receiptText = `{"method":"tempo","intent":"session","status":"success","timestamp":"2030-01-01T00:00:01.000Z",` +
		`"reference":"0x0000000000000000000000000000000000000000000000000000000000000001","challengeId":"VOrH514wCoI9JwXxaz_ichjj8yTw2cuPr6WPLEOjhKI",` +
		`"channelId":"0x0000000000000000000000000000000000000000000000000000000000000001","acceptedCumulative":"200000","spent":"200000","units":2}`
	receiptHeader   = "eyJtZXRob2QiOiJ0ZW1wbyIsImludGVudCI6InNlc3Npb24iLCJzdGF0dXMiOiJzdWNjZXNzIiwidGltZXN0YW1wIjoiMjAzMC0wMS0wMVQwMDowMDowMS4wMDBaIiwicmVmZXJlbmNlIjoiMHgwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAxIiwiY2hhbGxlbmdlSWQiOiJWT3JINTE0d0NvSTlKd1h4YXpfaWNoamo4eVR3MmN1UHI2V1BMRU9qaEtJIiwiY2hhbm5lbElkIjoiMHgwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAxIiwiYWNjZXB0ZWRDdW11bGF0aXZlIjoiMjAwMDAwIiwic3BlbnQiOiIyMDAwMDAiLCJ1bml0cyI6Mn0"
	needVoucherText = `{"channelId":"0x0000000000000000000000000000000000000000000000000000000000000001","requiredCumulative":"300000","acceptedCumulative":"200000","deposit":"500000"}`
)

func testReceipt() *Receipt {
	return &Receipt{Timestamp: time.Date(2030, 1, 1, 0, 0, 1, 0, time.UTC), ChallengeID: "VOrH514wCoI9JwXxaz_ichjj8yTw2cuPr6WPLEOjhKI",
		ChannelID: common.HexToHash("0x01"), AcceptedCumulative: testAmount(200000), Spent: testAmount(200000), Units: 2}
}

func TestConformance_A_5_Receipt(t *testing.T) {
	r := testReceipt()
	if got := string(r.JSON()); got != receiptText {
		t.Errorf("%s", got)
	}
	if got := r.HeaderValue(); got != receiptHeader {
		t.Errorf("%s", got)
	}
	if back, err := ParseReceipt(receiptHeader); err != nil || *back != *r {
		t.Errorf("%+v, %v", back, err)
	}
	r.TxHash = common.HexToHash("0x02")
	if got := string(r.JSON()); !strings.HasSuffix(got, `"units":2,"txHash":"0x0000000000000000000000000000000000000000000000000000000000000002"}`) {
		t.Errorf("%s", got)
	}
	if back, err := ParseReceipt(r.HeaderValue()); err != nil || *back != *r {
		t.Errorf("%+v, %v", back, err)
	}
}

// TestConformance_5_4_StrictReceipt: a client throws on what is not a session's
// receipt.
func TestConformance_5_4_StrictReceipt(t *testing.T) {
	f := func(ok bool, old, new string) {
		t.Helper()
		if !strings.Contains(receiptText, old) {
			t.Fatalf("%s is not in the receipt", old)
		}
		if r, err := DecodeReceipt([]byte(strings.Replace(receiptText, old, new, 1))); ok != (err == nil) {
			t.Errorf("%s: %+v, %v", new, r, err)
		}
	}
	f(true, `{`, `{"extra":{},`)
	f(true, `,"units":2`, ``)
	f(true, `.000Z`, `Z`)
	f(false, `"method":"tempo"`, `"method":"stripe"`)
	f(false, `"intent":"session"`, `"intent":"charge"`)
	f(false, `"success"`, `"failed"`)
	f(false, `"success"`, `true`)
	f(false, `"2030-01-01T00:00:01.000Z"`, `1893456001`)
	f(false, `"2030-01-01T00:00:01.000Z"`, `"yesterday"`)
	f(false, `"200000"`, `200000`)
	f(false, `"200000"`, `"0x30d40"`)
	f(false, `"units":2`, `"units":"2"`)
	f(false, `"units":2`, `"units":2.5`)
	f(false, `"units":2`, `"units":-1`)
	f(false, `"units":2`, `"units":1e3`)
	f(false, `"units":2`, `"units":9007199254740993`)
	f(false, `"reference":"0x00`, `"reference":"0x01`)
	f(false, `"spent":"200000",`, ``)
	f(false, `"challengeId":`, `"challenge":`)
	f(false, `}`, `}x`)
	for _, bad := range []string{"", "!", encode64([]byte(`[]`)), strings.Repeat("A", maxRequest+1)} {
		if _, err := ParseReceipt(bad); err == nil {
			t.Errorf("read %s", clip(bad))
		}
	}
	if _, err := DecodeReceipt(make([]byte, maxDocument+1)); err == nil {
		t.Error("read a receipt without end")
	}
}

func TestConformance_5_4_ClientRules(t *testing.T) {
	f := func(ok bool, channel common.Hash, signed uint64, change func(*Receipt)) {
		t.Helper()
		r := testReceipt()
		change(r)
		if err := r.Check(channel, testAmount(signed)); ok != (err == nil) {
			t.Error(err)
		}
	}
	one := common.HexToHash("0x01")
	f(true, one, 200000, func(*Receipt) {})
	f(true, one, 300000, func(r *Receipt) { r.Spent = tempo.Amount{} })
	f(false, one, 199999, func(*Receipt) {})
	f(false, one, 300000, func(r *Receipt) { r.Spent = testAmount(200001) })
	f(false, common.HexToHash("0x02"), 200000, func(*Receipt) {})
}

// TestConformance_6_2_NeedVoucher: four members, all strings, on one line.
func TestConformance_6_2_NeedVoucher(t *testing.T) {
	n := &NeedVoucher{common.HexToHash("0x01"), testAmount(300000), testAmount(200000), testAmount(500000)}
	if got := string(n.JSON()); got != needVoucherText {
		t.Errorf("%s", got)
	}
	if back, err := DecodeNeedVoucher([]byte(needVoucherText)); err != nil || *back != *n {
		t.Errorf("%+v, %v", back, err)
	}
	for _, bad := range []string{``, `{}`, `[]`, strings.Replace(needVoucherText, `"300000"`, `300000`, 1), strings.Replace(needVoucherText, `0001"`, `1"`, 1),
		strings.Replace(needVoucherText, `,"deposit":"500000"`, ``, 1), strings.Repeat(" ", maxDocument+1)} {
		if n, err := DecodeNeedVoucher([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", clip(bad), n)
		}
	}
}

// TestH3_EventDataHasNoLineEnd: whatever the strings hold, the data of an event is
// one line, so nothing in it can end the event and begin another.
func TestH3_EventDataHasNoLineEnd(t *testing.T) {
	r := testReceipt()
	r.ChallengeID = "x\r\revent: payment-need-voucher\rdata: {}\r\n\n"
	for _, doc := range [][]byte{r.JSON(), (&NeedVoucher{}).JSON()} {
		if strings.ContainsAny(string(doc), "\r\n") {
			t.Errorf("%q", doc)
		}
	}
}
