package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
)

const erc20ABI = `[{"type":"function","name":"transfer","inputs":[{"name":"to","type":"address"},{"name":"amount","type":"uint256"}],"outputs":[{"type":"bool"}],"stateMutability":"nonpayable"}]`

// world is a node and services with something to say about everything.
func world(t testing.TB) (Config, *stubnode.Node, *stubnode.Sources) {
	t.Helper()
	node, nodeURL := newNode(t, stubnode.Options{})
	answers := map[string]string{
		"eth_getBalance": `"0xde0b6b3a7640000"`, "eth_getTransactionCount": `"0x7"`, "eth_getCode": `"0x` + strings.Repeat("6080", 20_000) + `"`,
		"eth_getStorageAt": `"0x` + strings.Repeat("0", 62) + `2a"`,
		"trace_transaction": `[{"action":{"callType":"call","from":"` + hexAddress(alice) + `","to":"` + hexAddress(token) + `","gas":"0x1","input":"0x","value":"0x0"},
			"result":{"gasUsed":"0x1","output":"0x"},"subtraces":0,"traceAddress":[],"type":"call"}]`,
	}
	for method, text := range answers {
		node.Handle(method, func([]rawMessage) (rawMessage, error) { return rawMessage(text), nil })
	}
	node.Handle("eth_call", func(p []rawMessage) (rawMessage, error) {
		if strings.Contains(string(p[0]), "0xdead") {
			return nil, &stubnode.RPCError{Code: 3, Message: "execution reverted", Data: rawMessage(`"0x08c379a0"`)}
		}
		return rawMessage(`"0x` + strings.Repeat("00", 31) + `12"`), nil
	})
	src := stubnode.NewSources()
	base := src.Start(t)
	src.SetContract(stubnode.Sourcify, 1, hexAddress(token), stubnode.Contract{Name: "FiatTokenProxy", ABI: erc20ABI, ProxyType: "EIP1967Proxy", Implementations: []stubnode.Implementation{{Address: hexAddress(alice)}}})
	src.SetRawTrace(1, hashA.Hex(), answers["trace_transaction"])
	src.SetFunction("0xa9059cbb", stubnode.Signature{Name: "many_msg_babbage(bytes1)"}, stubnode.Signature{Name: "transfer(address,uint256)", Verified: true})
	src.SetEvent("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", stubnode.Signature{Name: "Transfer(address,address,uint256)", Verified: true})
	src.SetPrice("coingecko:ethereum", stubnode.Price{USD: "1876.54", Symbol: "ETH", Confidence: "0.99"})
	src.SetPrice("ethereum:"+hexAddress(token), stubnode.Price{USD: "0.99987", Symbol: "USDC", Decimals: "6", Confidence: "0.99"})
	cfg := quick(nodeURL)
	cfg.Timeout, cfg.TraceTimeout, cfg.SourceTimeout = 5*time.Second, 5*time.Second, 5*time.Second
	cfg.SourcifyURL, cfg.EtherscanURL, cfg.BlockscoutURL, cfg.FourByteURL, cfg.LlamaURL = base, base, base, base, base
	cfg.EtherscanKey = "ETHERSCANKEY"
	return cfg, node, src
}

// tour makes every kind of call, some of which fail, and tells what came.
func tour(ctx context.Context, t testing.TB, s *Session) string {
	ch := mustChain(t, 1)
	var out strings.Builder
	say := func(v any, err error) {
		var e *Error
		if errors.As(err, &e) {
			fmt.Fprintf(&out, "%s|%s|%v|%v|%x\n", e, e.Kind, e.Hint, e.Retryable, e.Data)
			return
		}
		text, jerr := json.Marshal(v)
		fmt.Fprintf(&out, "%s %v %v\n", text, jerr, err)
	}
	found, err := s.Probe(ctx, onlyChain(t, 1), hashA)
	say(found, err)
	say(s.Transaction(ctx, ch, hashA))
	say(s.Transaction(ctx, ch, unknown))
	say(s.Receipt(ctx, ch, hashA))
	say(s.Block(ctx, ch, blockNumber, true))
	tree, err := s.DebugTrace(ctx, ch, hashA, trace.Limits{})
	if err == nil {
		say(len(tree.Frames), nil)
	}
	tree, err = s.ParityTrace(ctx, ch, hashA, trace.Limits{})
	if err == nil {
		say(tree.Frames[0].Kind, nil)
	}
	tree, err = s.ExplorerTrace(ctx, ch, hashA, trace.Limits{})
	if err == nil {
		say(tree.Source, nil)
	}
	_, err = s.ExplorerTrace(ctx, ch, unknown, trace.Limits{})
	say(nil, err)
	say(s.StateDiff(ctx, ch, hashA))
	say(nil, s.Warm(ctx, ch, AskBalance(alice, 15), AskNonce(alice, 15), AskBalance(token, 15)))
	say(s.Balance(ctx, ch, alice, 15))
	say(s.Nonce(ctx, ch, alice, 15))
	say(s.Code(ctx, ch, alice, 15))
	say(s.Storage(ctx, ch, alice, common.Hash{1}, 15))
	say(s.Call(ctx, ch, token, []byte{0x31, 0x3c, 0xe5, 0x67}, 15))
	say(s.Call(ctx, ch, token, []byte{0xde, 0xad}, 15))
	say(s.Call(ctx, ch, token, bytes.Repeat([]byte{1}, 5000), 15))
	say(s.Source(ctx, ch, token))
	say(s.Source(ctx, ch, alice))
	set, err := s.Signatures(ctx, [][4]byte{{0xa9, 0x05, 0x9c, 0xbb}, {1, 2, 3, 4}}, []common.Hash{common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")})
	fmt.Fprintln(&out, set.Functions, set.Events, err)
	prices, err := s.PriceSet(ctx, ch, 1_700_000_000, []common.Address{{}, token, alice})
	fmt.Fprintln(&out, prices.Prices[token].USD, prices.Prices[common.Address{}].USD, prices.Dropped, err)
	return out.String()
}

func toolCalls(t testing.TB, m *meter.Meter) string {
	t.Helper()
	text, err := json.Marshal(m.ToolCalls())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(m.TotalNano(), " ", string(text))
}

func TestRecordAndReplay(t *testing.T) {
	cfg, _, _ := world(t)
	rec, live := NewRecorder(), &meter.Meter{}
	want := tour(background(t), t, newClient(t, cfg).Session(live, rec))
	rec.SetMeta(Meta{TxHash: hashA.Hex(), Version: "test", Context: "why?", CreatedAt: 5, Quick: true})
	file, err := rec.Bundle().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.bundle")
	if err := rec.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if onDisk, err := os.ReadFile(path); err != nil || !bytes.Equal(onDisk, file) {
		t.Fatalf("file and bytes differ: %v", err)
	}
	b, err := ReadBundle(path)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Meta.RPCOnly || b.Meta.SourcesOff || !b.Meta.Quick || b.Meta.TxHash != hashA.Hex() {
		t.Errorf("meta: %+v", b.Meta)
	}
	if again, err := b.Bytes(); err != nil || !bytes.Equal(again, file) {
		t.Errorf("a bundle that was read is written differently: %v", err)
	}
	for range 2 {
		replayed := &meter.Meter{}
		if got := tour(background(t), t, ReplaySession(b, replayed)); got != want {
			t.Errorf("replay differs:\n%s\nlive:\n%s", got, want)
		}
		if got, want := toolCalls(t, replayed), toolCalls(t, live); got != want {
			t.Errorf("calls differ:\n%s\nlive:\n%s", got, want)
		}
	}
	if n := len(live.ToolCalls()); n != rec.Len()-1 { // the transaction came with the probe
		t.Errorf("%d calls metered, %d recorded", n, rec.Len())
	}
}

// TestSameAnswersSameBytes makes the calls in parallel and in any order.
func TestSameAnswersSameBytes(t *testing.T) {
	cfg, _, _ := world(t)
	c := newClient(t, cfg)
	ch := mustChain(t, 1)
	run := func() []byte {
		rec := NewRecorder()
		s := c.Session(nil, rec)
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() { s.Balance(background(t), ch, alice, uint64(i%20)) })
			wg.Go(func() { s.Receipt(background(t), ch, hashA) })
			wg.Go(func() { s.Source(background(t), ch, alice) })
		}
		wg.Wait()
		b := rec.Bundle()
		for _, e := range b.entries {
			e.took, e.seq = 0, 0
		}
		file, err := b.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	if a, b := run(), run(); !bytes.Equal(a, b) {
		t.Error("two recordings of the same answers differ")
	}
}

// TestCutOffReplayIsMeteredOnce: where a deadline cut the recorded analysis off, what was
// metered is booked again, and not the transaction that came with the probe.
func TestCutOffReplayIsMeteredOnce(t *testing.T) {
	cfg, _, _ := world(t)
	rec, live := NewRecorder(), &meter.Meter{}
	tour(background(t), t, newClient(t, cfg).Session(live, rec))
	rec.SetMeta(Meta{Expired: []string{"trace"}})
	b, err := ParseBundle(mustBytes(t, rec.Bundle()))
	if err != nil {
		t.Fatal(err)
	}
	replayed := &meter.Meter{}
	ReplaySession(b, replayed)
	if got, want := toolCalls(t, replayed), toolCalls(t, live); got != want {
		t.Errorf("calls\n%s, live\n%s", got, want)
	}
}

func TestNotRecorded(t *testing.T) {
	rec := NewRecorder()
	b, err := ParseBundle(mustBytes(t, rec.Bundle()))
	if err != nil {
		t.Fatal(err)
	}
	m := &meter.Meter{}
	s := ReplaySession(b, m)
	ch := mustChain(t, 1)
	f := func(_ any, err error) {
		t.Helper()
		if !errors.Is(err, ErrNotRecorded) && !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
	f(s.Transaction(background(t), ch, hashA))
	f(s.DebugTrace(background(t), ch, hashA, trace.Limits{}))
	f(s.Source(background(t), ch, alice))
	f(s.Probe(background(t), onlyChain(t, 1), hashA))
	f(s.Prices(background(t), ch, 1, []common.Address{alice}))
	f(s.Signatures(background(t), [][4]byte{{1}}, nil))
	if n := len(m.ToolCalls()); n != 0 {
		t.Errorf("%d calls metered that the recorded analysis did not make", n)
	}
}

func mustBytes(t testing.TB, b *Bundle) []byte {
	t.Helper()
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCanceledCallsLeaveNoMark(t *testing.T) {
	cfg, node, _ := world(t)
	node.SetFault(stubnode.All, stubnode.Fault{Delay: 5 * time.Second})
	rec, m := NewRecorder(), &meter.Meter{}
	s := newClient(t, cfg).Session(m, rec)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := s.Receipt(ctx, mustChain(t, 1), hashA)
	wantKind(t, err, KindCanceled)
	if rec.Len() != 0 || len(m.ToolCalls()) != 0 {
		t.Errorf("%d recorded, %d metered", rec.Len(), len(m.ToolCalls()))
	}
	// A deadline is an outcome of the analysis: the replay must meet it too.
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Receipt(ctx, mustChain(t, 1), hashA)
	wantKind(t, err, KindTimeout)
	_, err = ReplaySession(rec.Bundle(), nil).Receipt(background(t), mustChain(t, 1), hashA)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("replayed: %v", err)
	}
}

// TestSecretsStayOut puts keys wherever a URL has room for one, lets services
// repeat them in their errors, and looks for them in everything that comes out.
func TestSecretsStayOut(t *testing.T) {
	words := []string{"pathSECRET01", "querySECRET2", "userSECRET3", "passSECRET4", "ETHERSCANKEY", "headerSECRET"}
	cfg, node, _ := world(t)
	u, err := url.Parse(cfg.Endpoints[1][0])
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("userSECRET3", "passSECRET4")
	u.Path, u.RawQuery = "/v2/pathSECRET01", "apikey=querySECRET2"
	dead := strings.Replace(u.String(), u.Port(), "1", 1)
	cfg.Endpoints[1] = []string{u.String()}
	cfg.SourcifyURL = strings.Replace(cfg.SourcifyURL, "http://", "http://userSECRET3:passSECRET4@", 1) + "/pathSECRET01"
	cfg.Backoff = time.Millisecond
	all := func(s *Session) string {
		ctx, ch := background(t), mustChain(t, 1)
		text := tour(ctx, t, s)
		for _, fault := range []stubnode.Fault{
			{Error: &stubnode.RPCError{Code: -32000, Message: "invalid key pathSECRET01 for " + u.String()}},
			{Status: 403, Error: &stubnode.RPCError{Code: -32000, Message: "https://userSECRET3:passSECRET4@host/v2/pathSECRET01?apikey=querySECRET2 is no good"}},
			{Status: 401}, {Refuse: true}, {Garbage: true}, {Truncate: true},
			{Body: `{"jsonrpc":"2.0","id":1,"result":"pathSECRET01 querySECRET2"`},
		} {
			node.SetFault("eth_getBlockByNumber", fault)
			_, err := s.Block(ctx, ch, uint64(len(text)), false)
			text += fmt.Sprintf("%v %+v %#v\n", err, err, err)
		}
		return text
	}
	rec, m := NewRecorder(), &meter.Meter{}
	text := all(newClient(t, cfg).Session(m, rec))
	noSecrets(t, "the answers", text, words...)
	noSecrets(t, "the list of calls", toolCalls(t, m), words...)
	for _, path := range []string{dead, "http://nobody.invalid/v2/pathSECRET01?apikey=querySECRET2"} {
		cfg.Endpoints[1] = []string{path}
		s := newClient(t, cfg).Session(m, rec)
		_, err := s.Block(background(t), mustChain(t, 1), 99, false)
		noSecrets(t, "the error", fmt.Sprintf("%v %+v %#v", err, err, err), words...)
		if err == nil {
			t.Error("nobody answered, and yet there is no error")
		}
	}
	b := rec.Bundle()
	for _, key := range b.Keys() {
		e := b.entries[key]
		noSecrets(t, "a key", key, words...)
		if e.err != nil {
			noSecrets(t, key, fmt.Sprintf("%+v", e.err.record()), words...)
		} else {
			var plain bytes.Buffer
			if err := e.raw.copyTo(&plain); err != nil {
				t.Fatal(err)
			}
			noSecrets(t, key, plain.String(), words...)
		}
	}
}

func TestScrub(t *testing.T) {
	u, err := url.Parse("https://user:pw@host.example/v3/0123456789abcdef/rpc?key=q+q%2Fq&v=1")
	if err != nil {
		t.Fatal(err)
	}
	s := secretsOf(u)
	f := func(in, want string) {
		t.Helper()
		if got := s.scrub(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f("plain words", "plain words")
	f("key 0123456789abcdef is bad", "key … is bad")
	f("see https://dash.example/p?x=1 now", "see dash.example now")
	f("wss://user:pw@host.example/v3/0123456789abcdef", "host.example")
	f("q q/q", "…")
	f("q+q%2Fq", "…")
	f("a\x1b[31mred\u202e\u200b\ntext\x00", "a[31mred text")
	f("bad \xff\xfe utf-8", "bad utf-8")
	if got := s.scrub(strings.Repeat("界", 5000)); len([]rune(got)) != 300 {
		t.Errorf("cut at %d characters", len([]rune(got)))
	}
}

func TestDamagedBundles(t *testing.T) {
	cfg, _, _ := world(t)
	rec := NewRecorder()
	tour(background(t), t, newClient(t, cfg).Session(nil, rec))
	file := mustBytes(t, rec.Bundle())
	f := func(name string, bad []byte, want error) {
		t.Helper()
		b, err := ParseBundle(bad)
		if !errors.Is(err, want) || b != nil {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	f("empty", nil, ErrNotBundle)
	f("text", []byte("this is no bundle at all"), ErrNotBundle)
	f("zip", []byte("PK\x03\x04........"), ErrNotBundle)
	f("only the magic", file[:8], ErrBundleDamaged)
	f("trailing", append(bytes.Clone(file), "x"...), ErrBundleDamaged)
	newer := bytes.Clone(file)
	newer[7] = 2
	f("newer", newer, ErrBundleVersion)
	for n := 8; n < len(file); n += max(1, len(file)/97) {
		f(fmt.Sprintf("cut at %d", n), file[:n], ErrBundleDamaged)
	}
	for n := 8; n < len(file); n += max(1, len(file)/97) {
		bad := bytes.Clone(file)
		bad[n] ^= 0x55
		if b, err := ParseBundle(bad); err == nil && !reflect.DeepEqual(b.Keys(), rec.Bundle().Keys()) {
			t.Errorf("byte %d changed: accepted", n)
		}
	}
	if _, err := ReadBundle(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestBundleHasBounds writes files that lie about sizes and order.
func TestBundleHasBounds(t *testing.T) {
	f := func(name string, heads ...string) {
		t.Helper()
		if _, err := ParseBundle(rawBundle(heads...)); !errors.Is(err, ErrBundleDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("no meta")
	f("meta is no object", `7`)
	f("unordered", `{}`, `{"key":"b","size":0}`, `{"key":"a","size":0}`)
	f("twice", `{}`, `{"key":"b"}`, `{"key":"b"}`)
	f("without key", `{}`, `{"key":""}`)
	f("negative size", `{}`, `{"key":"a","size":-1}`)
	f("huge size", `{}`, `{"key":"a","size":9000000000000000000}`)
	f("size of what is not there", `{}`, `{"key":"a","size":1000000}`)
	f("negative cost", `{}`, `{"key":"a","nano":-5}`)
	f("huge duration", `{}`, `{"key":"a","ms":9223372036854775807}`)
	f("result and error", `{}`, `{"key":"a","size":1,"error":{"op":"x","kind":"timeout","text":"t"}}`)
	f("no JSON", `{}`, `{"key":`)
}

// TestManyCalls: a small file of many small calls is refused before they fill the memory.
func TestManyCalls(t *testing.T) {
	f := func(name string, n, size int, want error) {
		t.Helper()
		heads := []string{"{}"}
		pad := strings.Repeat("k", size)
		for i := range n {
			heads = append(heads, fmt.Sprintf(`{"key":"%07d%s"}`, i, pad))
		}
		file := rawBundle(heads...)
		peak := peakHeap(func() {
			if _, err := ParseBundle(file); !errors.Is(err, want) || want != nil && errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		})
		if peak > 128<<20 {
			t.Errorf("%s: %d MiB of heap for a file of %d KiB", name, peak>>20, len(file)>>10)
		}
	}
	f("too many calls", maxEntries+2, 1, ErrBundleDamaged)
	f("too large heads", 40, 900<<10, ErrBundleDamaged)
	f("as many as allowed", maxEntries, 1, nil)
}

// TestFileOfTheOwner: a bundle has what a caller asked about, so only its owner reads it, and
// a file that is there is kept.
func TestFileOfTheOwner(t *testing.T) {
	b := &Bundle{Meta: Meta{TxHash: "0x1"}, entries: map[string]*entry{}}
	path := filepath.Join(t.TempDir(), "a.txlens")
	if err := b.CreateFile(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	b.Meta.TxHash = "0x2"
	if err := b.CreateFile(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second file: %v", err)
	}
	if got, err := ReadBundle(path); err != nil || got.Meta.TxHash != "0x1" {
		t.Errorf("%+v, %v", got, err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestBundleBomb unpacks to far more than it is.
func TestBundleBomb(t *testing.T) {
	file := rawBundle(`{}`, `{"key":"a","size":1073741824}`+strings.Repeat(" ", 100), strings.Repeat("z", 60<<20))
	peak := peakHeap(func() {
		if _, err := ParseBundle(file); err == nil {
			t.Error("accepted")
		}
	})
	if peak > 64<<20 {
		t.Errorf("%d MiB of heap", peak>>20)
	}
}

func FuzzBundle(f *testing.F) {
	b := &Bundle{Meta: Meta{TxHash: "0x1"}, entries: map[string]*entry{
		"a": {tool: "x", raw: packBytes([]byte(`{"a":1}`)), took: time.Second},
		"b": {tool: "y", err: newError(KindTimeout, "no answer")},
	}}
	file, err := b.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, false)
	f.Add([]byte("\x02{}\x0c{\"key\":\"a\"}\x00"), true)
	f.Add([]byte("\x02{}\x15{\"key\":\"a\",\"size\":3}xyz\x00"), true)
	f.Fuzz(func(t *testing.T, in []byte, inner bool) {
		if inner { // past the compression, where mutations would otherwise die
			in = compressBundle(in)
		}
		b, err := ParseBundle(in)
		if err != nil {
			return
		}
		again, err := b.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if c, err := ParseBundle(again); err != nil || !reflect.DeepEqual(c.Keys(), b.Keys()) {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
		s := ReplaySession(b, nil)
		for _, key := range b.Keys() {
			s.ask(context.Background(), call{tool: "x", key: key, decode: decodeQuotes})
		}
	})
}

// TestCompactBundle: a bundle is read from its compact form, which has at most the size that is asked for.
func TestCompactBundle(t *testing.T) {
	rec := NewRecorder()
	for _, key := range []string{"a", "b", "c"} {
		rec.put(key, entry{tool: key, raw: packBytes([]byte(strconv.Quote(strings.Repeat(key, 30_000))))})
	}
	b := rec.Bundle()
	file, err := b.Compact(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseBundle(file)
	if err != nil || !slices.Equal(got.Keys(), b.Keys()) {
		t.Errorf("%v, %v", got, err)
	}
	f := func(most int, want error) {
		t.Helper()
		if again, err := b.Compact(most); !errors.Is(err, want) || err == nil && !bytes.Equal(again, file) {
			t.Errorf("at most %d bytes: %d bytes, %v", most, len(again), err)
		}
	}
	f(len(file), nil)
	f(len(file)-1, ErrBundleTooLarge)
	f(0, ErrBundleTooLarge)
	f(len(file), nil)
}
