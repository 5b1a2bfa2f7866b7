package label

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// multicallABI is Multicall3's, so that our own packing meets an independent one.
var multicallABI = func() abi.ABI {
	a, err := abi.JSON(strings.NewReader(`[{"type":"function","name":"aggregate3","stateMutability":"payable",
	"inputs":[{"name":"calls","type":"tuple[]","components":[{"name":"target","type":"address"},{"name":"allowFailure","type":"bool"},{"name":"callData","type":"bytes"}]}],
	"outputs":[{"name":"returnData","type":"tuple[]","components":[{"name":"success","type":"bool"},{"name":"returnData","type":"bytes"}]}]}]`))
	if err != nil {
		panic(err)
	}
	return a
}()

var errReverted = errors.New("execution reverted")

// stub is a chain with a few contracts.
type stub struct {
	contracts map[common.Address]func(selector []byte) ([]byte, error)
	multicall *common.Address // nil: no code there
	poison    common.Address  // a contract that burns the gas of a whole batch
	endless   bool            // it does so by answering without end
	calls     int
	down      error
}

func (s *stub) CallContract(_ context.Context, to common.Address, data []byte) ([]byte, error) {
	s.calls++
	switch {
	case s.down != nil:
		return nil, s.down
	case s.multicall != nil && to == *s.multicall:
		return s.aggregate(data)
	case to == s.poison && s.poison != common.Address{}:
		return nil, s.poisoned()
	}
	c, ok := s.contracts[to]
	if !ok {
		return nil, nil // no code: empty return data
	}
	return c(data[:4])
}

func (s *stub) poisoned() error {
	if s.endless {
		return errors.New("answer is larger than the limit")
	}
	return errors.New("out of gas")
}

func (s *stub) aggregate(data []byte) ([]byte, error) {
	m := multicallABI.Methods["aggregate3"]
	args, err := m.Inputs.Unpack(data[4:])
	if err != nil || !bytes.Equal(data[:4], m.ID) {
		return nil, fmt.Errorf("bad call: %v", err)
	}
	calls := args[0].([]struct {
		Target       common.Address `json:"target"`
		AllowFailure bool           `json:"allowFailure"`
		CallData     []byte         `json:"callData"`
	})
	type result struct {
		Success    bool
		ReturnData []byte
	}
	var results []result
	for _, c := range calls {
		if c.Target == s.poison && s.poison != (common.Address{}) {
			return nil, s.poisoned()
		}
		var r result
		if f, ok := s.contracts[c.Target]; ok {
			out, err := f(c.CallData)
			r = result{err == nil, out}
		} else {
			r.Success = true
		}
		results = append(results, r)
	}
	return m.Outputs.Pack(results)
}

func abiText(s string) []byte {
	t, _ := abi.NewType("string", "", nil)
	b, _ := abi.Arguments{{Type: t}}.Pack(s)
	return b
}

func abiNumber(n byte) []byte { return append(make([]byte, 31), n) }

// token answers the three metadata functions; nil reverts.
func token(symbol, name, decimals []byte) func([]byte) ([]byte, error) {
	return func(selector []byte) ([]byte, error) {
		for i, out := range [][]byte{symbol, name, decimals} {
			if bytes.Equal(selector, metadata[i]) && out != nil {
				return out, nil
			}
		}
		return nil, errReverted
	}
}

func address(n int64) common.Address {
	return common.HexToAddress(fmt.Sprintf("0xf00000000000000000000000000000%010x", n))
}

func world() *stub {
	bytes32 := make([]byte, 32)
	copy(bytes32, "MKR")
	ch, _ := chain.ByID(1)
	return &stub{multicall: ch.Multicall3, contracts: map[common.Address]func([]byte) ([]byte, error){
		address(1):  token(abiText("GOOD"), abiText("Good Token"), abiNumber(6)),
		address(2):  token(bytes32, bytes32, abiNumber(18)),
		address(3):  token(abiText("NFT"), abiText("An NFT"), nil),
		address(4):  token(nil, nil, nil),
		address(5):  token(abiText("ZERODEC"), nil, abiNumber(0)),
		address(6):  token(abiText("HUGE"), nil, abiNumber(78)),
		address(7):  token(abiText("\u202eUSD\u0421\x00"), abiText(strings.Repeat("Z", 5000)), abiNumber(18)),
		address(10): token(nil, nil, abiNumber(18)),
		address(11): token([]byte("AB\xff\xfeCDZZZZZZZZZZZZZZZZZZZZZZZZZZ"), nil, abiNumber(6)),
		address(12): token([]byte{}, []byte{}, abiNumber(8)),
		address(13): token(nil, abiNumber(18), abiNumber(18)),
		address(8):  token(abiNumber(1), abiNumber(2), abiNumber(3)), // a fallback that returns numbers
	}}
}

func endless() *stub {
	s := world()
	s.poison, s.endless = address(4), true
	return s
}

// check is what world's contracts must turn into, however they were asked.
func check(t *testing.T, got map[common.Address]Token) {
	t.Helper()
	f := func(n int64, symbol, name string, decimals int, lookalike string) {
		t.Helper()
		tok, ok := got[address(n)]
		if !ok || tok.Symbol != symbol || tok.Name != name || tok.Listed || tok.Source != "chain" || tok.Lookalike != lookalike {
			t.Errorf("token %d: %+v, %v", n, tok, ok)
			return
		}
		if d := tok.Decimals; decimals < 0 && d != nil || decimals >= 0 && (d == nil || int(*d) != decimals) {
			t.Errorf("token %d: decimals %v, want %d", n, d, decimals)
		}
	}
	f(1, "GOOD", "Good Token", 6, "")
	f(2, "MKR", "", 18, "MKR")
	f(3, "NFT", "An NFT", -1, "")
	f(5, "ZERODEC", "", 0, "")
	f(6, "HUGE", "", -1, "")
	f(10, "", "", 18, "") // decimals are enough for amounts
	f(11, "", "", 6, "")
	f(12, "", "", 8, "")
	f(7, "USD\u0421", strings.Repeat("Z", MaxName), 18, "USDC")
	for _, n := range []int64{4, 8, 9, 13} {
		if tok, ok := got[address(n)]; ok {
			t.Errorf("contract %d is no token, got %+v", n, tok)
		}
	}
}

func someAddresses() []common.Address {
	var a []common.Address
	for n := int64(1); n <= 13; n++ {
		a = append(a, address(n), address(n))
	}
	return append(a, common.Address{})
}

func TestFetch(t *testing.T) {
	ch, _ := chain.ByID(1)
	f := func(name string, s *stub, block uint64, maxCalls int) {
		t.Helper()
		got, err := Fetch(context.Background(), s, ch, block, someAddresses())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		check(t, got)
		if s.calls > maxCalls {
			t.Errorf("%s: %d calls, want at most %d", name, s.calls, maxCalls)
		}
	}
	f("one batch", world(), 20_000_000, 1)
	f("before Multicall3", world(), 14_000_000, 39)

	gone := world()
	gone.multicall = nil
	f("no code where Multicall3 should be", gone, 20_000_000, 40)

	burnt := world()
	burnt.poison = address(4)
	f("one contract burns the gas of the batch", burnt, 20_000_000, 14)

	f("errors of the client about the answer's size count as the contract's", endless(), 20_000_000, 14)
}

func TestFetchManyBatches(t *testing.T) {
	ch, _ := chain.ByID(1)
	s := world()
	var ask []common.Address
	for n := int64(1); n <= maxTokens+10; n++ {
		ask = append(ask, address(n))
	}
	got, err := Fetch(context.Background(), s, ch, 20_000_000, ask)
	check(t, got)
	if err == nil || !strings.Contains(err.Error(), "10 contracts not asked") {
		t.Errorf("error %v, want the ten that are too many", err)
	}
	if want := maxTokens / batchTokens; s.calls != want {
		t.Errorf("%d calls, want %d", s.calls, want)
	}
}

func TestFetchFaults(t *testing.T) {
	ch, _ := chain.ByID(1)
	dead := errors.New("connection refused")
	s := &stub{down: dead}
	got, err := Fetch(context.Background(), s, ch, 20_000_000, someAddresses())
	if !errors.Is(err, dead) || len(got) != 0 || s.calls != 1 {
		t.Errorf("dead endpoint: %v after %d calls", err, s.calls)
	}
	s = &stub{down: dead}
	if _, err := Fetch(context.Background(), s, ch, 1, someAddresses()); !errors.Is(err, dead) || s.calls != maxFailures {
		t.Errorf("dead endpoint without Multicall3: %v after %d calls", err, s.calls)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fetch(ctx, world(), ch, 20_000_000, someAddresses()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	none := *ch
	none.Multicall3 = nil
	var many []common.Address
	for n := int64(0); n < maxPlain+5; n++ {
		many = append(many, address(1000+n))
	}
	s = world()
	if _, err := Fetch(context.Background(), s, &none, 1, many); err == nil || s.calls != 3*maxPlain {
		t.Errorf("plain calls are not bounded: %v after %d calls", err, s.calls)
	}
	if got, err := Fetch(context.Background(), s, ch, 1, nil); err != nil || len(got) != 0 {
		t.Errorf("nothing asked: %v, %v", got, err)
	}
}

func TestText(t *testing.T) {
	f := func(name string, data []byte, want string, ok bool) {
		t.Helper()
		if got, gotOK := text(data); got != want || gotOK != ok {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, gotOK, want, ok)
		}
	}
	word := func(b ...byte) []byte { return append(make([]byte, 32-len(b)), b...) }
	left := func(s string) []byte { return append([]byte(s), make([]byte, 32-len(s))...) }
	f("string", abiText("USDC"), "USDC", true)
	f("empty string", abiText(""), "", true)
	f("bytes32", left("MKR"), "MKR", true)
	f("full bytes32", []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", true)
	f("number", word(18), "", false)
	f("zero word", word(), "", false)
	f("bytes32 with a hole", append(append([]byte("MK"), 0, 'R'), make([]byte, 28)...), "", false)
	f("nothing", nil, "", false)
	f("short", []byte{1, 2, 3}, "", false)
	f("length beyond the data", append(word(32), word(200)...), "", false)
	f("absurd length", append(word(32), bytes.Repeat([]byte{0xff}, 32)...), "", false)
	f("offset beyond the data", append(word(0xff, 0xff), word(4)...), "", false)
	f("absurd offset", append(bytes.Repeat([]byte{0xff}, 32), word(4)...), "", false)
	f("long text", abiText(strings.Repeat("é", 100_000)), strings.Repeat("é", 200), true)
	f("invalid UTF-8", append(append(word(32), word(4)...), left("\xff\xfeOK")...), "OK", true)
}

func FuzzReturnData(f *testing.F) {
	f.Add(abiText("USDC"), 1)
	f.Add(abiNumber(18), 2)
	f.Add(bytes.Repeat([]byte{0xff}, 96), 3)
	packed, _ := world().aggregate(packAggregate([]common.Address{address(1), address(4)}))
	f.Add(packed, 6)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if s, ok := text(data); ok && len(s) > 4*maxRunes {
			t.Fatalf("text of %d bytes", len(s))
		}
		if d, ok := decimals(data); ok && d > MaxDecimals {
			t.Fatalf("%d decimals", d)
		}
		answers, ok := unpackAggregate(data, n&0xff)
		if ok && len(answers) != n&0xff {
			t.Fatalf("%d answers of %d", len(answers), n)
		}
		for _, a := range answers {
			if len(a) > len(data) {
				t.Fatal("an answer is longer than the data")
			}
		}
	})
}
