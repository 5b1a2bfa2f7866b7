package narrate

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// TestShortForms: long ids, amounts without decimals, ranges and lists at their bounds.
func TestShortForms(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	number := func(s string) *big.Int {
		n, ok := new(big.Int).SetString(s, 10)
		if !ok {
			t.Fatal(s)
		}
		return n
	}
	f(clip("12345678901234"), "12345678901234")
	f(clip("123456789012345"), "123456…2345")
	f(between(number("3"), number("123456789012345")), " (3 … 123456…2345)")
	f(join(nil), "")
	f(join([]string{"a"}), "a")
	f(join([]string{"a", "b"}), "a and b")
	f(join([]string{"a", "b", "c"}), "a, b and c")
	for digits, want := range map[string]string{
		"0": "0", "999": "999", "999999": "999,999", "1000000": "1M", "1234567": "1.235M", "12345678": "12.35M", "123456789": "123.5M",
		"1234567890": "1.235B", "9999499999": "9.999B", "123456789012": "123.5B", "1234567890123": "1.235T", "123456789012345": "123.5T",
		"1234567890123456": "1.235e15", "99949999999999999": "9.995e16", "123456789012345678901": "1.235e20",
	} {
		f(compact(number(digits)), want)
	}
	f(RawUnits(number("1"), "X"), "1 raw unit of X")
	f(RawUnits(number("2"), "X"), "2 raw units of X")
	f(RawUnits(number("999999999999"), "X"), "1,000B raw units of X")
	f(RawUnits(number("1000000000000000000"), "X"), "1e18 raw units of X (1 if 18 decimals)")
	f(wasOrWere(1), "1 was")
	f(wasOrWere(2), "2 were")
	f(upperFirst(""), "")
	f(upperFirst("ab"), "Ab")
	f(lowerFirst("Ab"), "ab")
	f(lowerFirst("AB"), "AB")
	f(lowerFirst("A"), "A")
	f(on("over", ""), "")
	f(on("over", "X"), " over X")
}

// TestNotes: calldata is read as a text where all of it is one, of at most 4,096 bytes.
func TestNotes(t *testing.T) {
	f := func(data, want string) {
		t.Helper()
		if got := Note([]byte(data)); got != want {
			t.Errorf("%q: %q, want %q", data, got, want)
		}
	}
	f("h", "")
	f("hi", "hi")
	f("hi \"you\"", "hi 'you'")
	f("hi\x00", "")
	f("hi\xff", "")
	f("two\nlines", "two lines")
	if got := Note([]byte(strings.Repeat("a", 4096))); got == "" {
		t.Error("4,096 bytes are no text")
	}
	f(strings.Repeat("a", 4097), "")
}

// TestLegLists: at most three or four assets are named, NFTs of one collection as a range, and no
// token that imitates another.
func TestLegLists(t *testing.T) {
	collection, dollar, six := common.HexToAddress("0x0721000000000000000000000000000000000721"), common.HexToAddress("0x05dc"), uint8(6)
	w := NewWords(facts.Read(&facts.Input{Tx: &ethrpc.Transaction{Value: new(big.Int)},
		Tokens: map[common.Address]label.Token{dollar: {Symbol: "USDC", Decimals: &six, Listed: true}}}))
	nfts := func(n int64) (list []facts.Leg) {
		for i := range n {
			list = append(list, facts.Leg{Key: flow.TokenKey{Token: collection, ID: big.NewInt(i + 7).String(), NFT: true}, Amount: big.NewInt(1)})
		}
		return list
	}
	items := func(n int64) (list []facts.Leg) {
		for i := range n {
			list = append(list, facts.Leg{Key: flow.TokenKey{Token: collection, ID: big.NewInt(i + 7).String()}, Amount: big.NewInt(i + 2)})
		}
		return list
	}
	f := func(list []facts.Leg, want string) {
		t.Helper()
		if got := w.legs(list); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	usdc := facts.Leg{Key: facts.FungibleKey(dollar), Amount: big.NewInt(5_000000)}
	f(nfts(1), "NFT 7 of 0x0721…0721")
	f(nfts(2), "NFT 7 of 0x0721…0721 and NFT 8 of 0x0721…0721")
	f(nfts(3), "3 NFTs of 0x0721…0721 (7 … 9)")
	f(append(nfts(3), usdc), "NFT 7 of 0x0721…0721, NFT 8 of 0x0721…0721, NFT 9 of 0x0721…0721 and 5 USDC")
	f(append(nfts(4), usdc), "NFT 7 of 0x0721…0721, NFT 8 of 0x0721…0721, NFT 9 of 0x0721…0721 and 2 more assets")
	f(items(3), "2 of 0x0721…0721 id 7, 3 of 0x0721…0721 id 8 and 4 of 0x0721…0721 id 9")
	f(items(4), "2 of 0x0721…0721 id 7, 3 of 0x0721…0721 id 8, 4 of 0x0721…0721 id 9 and 5 of 0x0721…0721 id 10")
	f(items(5), "2 of 0x0721…0721 id 7, 3 of 0x0721…0721 id 8, 4 of 0x0721…0721 id 9 and 2 more assets")
}
