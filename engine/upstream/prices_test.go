package upstream

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
)

func TestPrices(t *testing.T) {
	const at = 1_700_000_000
	ch := mustChain(t, 1)
	coin := "ethereum:" + hexAddress(token)
	f := func(p stubnode.Price, wantUSD, wantDropped string) {
		t.Helper()
		src, s, _ := services(t)
		src.SetPrice(coin, p)
		set, err := s.PriceSet(background(t), ch, at, []common.Address{token, token})
		if err != nil {
			t.Fatal(err)
		}
		got, ok := set.Prices[token]
		if usd := got.USD.String(); ok && usd != wantUSD || ok != (wantUSD != "") || set.Dropped[token] != wantDropped {
			t.Errorf("%+v: %v %s, dropped %q", p, ok, usd, set.Dropped[token])
		}
		if ok && (got.Confidence != p.Confidence || got.Source != "defillama" || got.Symbol != p.Symbol) {
			t.Errorf("%+v: %+v", p, got)
		}
	}
	f(stubnode.Price{USD: "0.99987", Confidence: "0.99", Symbol: "USDC", Decimals: "6"}, "0.99987", "")
	f(stubnode.Price{USD: "1"}, "1", "") // some quotes have no confidence
	f(stubnode.Price{USD: "26.765469766407215", Confidence: "0.8"}, "26.765469766407215", "")
	f(stubnode.Price{USD: "1.2e-7", Confidence: "1"}, "0.00000012", "")
	f(stubnode.Price{USD: "1.5E+3", Confidence: "1.0"}, "1500", "")
	f(stubnode.Price{USD: "1", Confidence: "0.79999999999999999999"}, "", "price has confidence 0.799999999999999999")
	f(stubnode.Price{USD: "1", Confidence: "0.99", Timestamp: at - priceWindow}, "1", "")
	f(stubnode.Price{USD: "1", Confidence: "0.99", Timestamp: at - priceWindow - 1}, "", "price is more than 4 hours off")
	f(stubnode.Price{USD: "1", Confidence: "0.99", Timestamp: at + priceWindow + 1}, "", "price is more than 4 hours off")
	f(stubnode.Price{USD: "0", Confidence: "0.99"}, "", "price is not a positive number")
	f(stubnode.Price{USD: "-1", Confidence: "0.99"}, "", "price is not a positive number")
	f(stubnode.Price{USD: `"1"`, Confidence: "0.99"}, "", "price is not a positive number")
	f(stubnode.Price{USD: "1e999999999", Confidence: "0.99"}, "", "price is not a positive number")
	f(stubnode.Price{USD: "null", Confidence: "0.99"}, "", "price is not a positive number")

	src, s, _ := services(t)
	src.SetPrice("coingecko:ethereum", stubnode.Price{USD: "1876.54", Symbol: "ETH", Decimals: "18"})
	prices, err := s.Prices(background(t), ch, at, []common.Address{alice, {}})
	if err != nil || len(prices) != 1 || prices[common.Address{}].USD.String() != "1876.54" || *prices[common.Address{}].Decimals != 18 {
		t.Errorf("native coin: %v, %v", prices, err)
	}
	if path := src.Asked()[0]; !strings.HasSuffix(path, "?searchWidth=4h") || !strings.Contains(path, "/1700000000/") {
		t.Errorf("asked %s", path)
	}
}

func TestPricesComeInBatches(t *testing.T) {
	src, s, _ := services(t)
	var tokens []common.Address
	for i := range 130 {
		tokens = append(tokens, common.Address{1, byte(i)})
	}
	set, err := s.PriceSet(background(t), mustChain(t, 1), 5, tokens)
	if err != nil || len(set.Dropped) != 130 {
		t.Errorf("%d dropped, %v", len(set.Dropped), err)
	}
	if n := len(src.Asked()); n != 3 {
		t.Errorf("%d requests", n)
	}
	src.SetFault(stubnode.Llama, stubnode.Fault{Garbage: true})
	set, err = s.PriceSet(background(t), mustChain(t, 1), 6, tokens)
	if err == nil || set == nil || len(set.Dropped) != 0 {
		t.Errorf("a failed call is no reason about a price: %v, %v", set, err)
	}
}

func TestPriceOfAChainWithoutPrices(t *testing.T) {
	src, s, _ := services(t)
	ch := *mustChain(t, 1)
	ch.LlamaPrefix, ch.CoingeckoID = "", ""
	set, err := s.PriceSet(background(t), &ch, 5, []common.Address{alice, {}})
	if err != nil || len(set.Dropped) != 2 || len(src.Asked()) != 0 {
		t.Errorf("%v, %v, asked %v", set, err, src.Asked())
	}
	ch.LlamaPrefix = "somewhere"
	if got := coinKey(&ch, 5, common.Address{}); got != "somewhere:0x0000000000000000000000000000000000000000" {
		t.Errorf("native coin without an id: %s", got)
	}
}

// TestRecordedQuotes reads every answer of DefiLlama among the recordings.
func TestRecordedQuotes(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(fixture.Dir(t), "api_recorded.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		URI  string `json:"uri"`
		Body string `json:"body"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	asked, priced := 0, 0
	for _, r := range all {
		u, err := url.Parse(r.URI)
		if err != nil || u.Host != "coins.llama.fi" {
			continue
		}
		coins := strings.Split(u.Path[strings.LastIndex(u.Path, "/")+1:], ",")
		quotes, err := readQuotes(http.StatusOK, []byte(r.Body), coins)
		if err != nil {
			t.Errorf("%s: %v", r.URI, err)
		}
		asked += len(coins)
		for _, q := range quotes {
			if d, ok := parseDecimal(q.Price); !ok || d.String() != q.Price || q.Time == 0 || q.Symbol == "" {
				t.Errorf("%s: %+v", r.URI, q)
			}
			priced++
		}
	}
	if asked < 30 || priced < 30 {
		t.Errorf("%d asked, %d priced", asked, priced)
	}
}

func TestParseDecimal(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		d, ok := parseDecimal(in)
		if ok != (want != "") || ok && d.String() != want {
			t.Errorf("%q: %v, %v", in, d, ok)
		}
	}
	f("1", "1")
	f("-0.5", "-0.5")
	f("12.500", "12.5")
	f("1e3", "1000")
	f("1.25e1", "12.5")
	f("1e-3", "0.001")
	f("123456789012345678901234567890.123456789", "123456789012345678901234567890.123456789")
	f("", "")
	f("1e61", "")
	f("1e", "")
	f("0x10", "")
	f(strings.Repeat("9", 90), "")
}

func FuzzQuotes(f *testing.F) {
	f.Add([]byte(`{"coins":{"coingecko:matic-network":{"decimals":18,"symbol":"WMATIC","price":0.540342,"timestamp":1724450278,"confidence":0.99}}}`))
	f.Add([]byte(`{"coins":{"coingecko:matic-network":{"price":1e-9,"timestamp":1e9}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		quotes, err := readQuotes(http.StatusOK, raw, []string{"coingecko:matic-network"})
		if err != nil {
			return
		}
		out, err := storeRecord(quotes, decodeQuotes, true)
		if err != nil {
			t.Fatal(err)
		}
		set := &PriceSet{Prices: map[common.Address]Price{}, Dropped: map[common.Address]string{}}
		for _, q := range out.value.([]quote) {
			set.judge(token, 1_724_450_278, q, true)
			if p, ok := set.Prices[token]; ok && p.USD.Unscaled.Sign() <= 0 {
				t.Fatalf("%+v", p)
			}
		}
	})
}
