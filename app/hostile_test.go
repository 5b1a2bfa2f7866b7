package app_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"

	"txlens/app"
	"txlens/engine/api"
	"txlens/testkit/service"
	"txlens/testkit/size"
	"txlens/testkit/stubnode"
)

// TestHostileGround: the invented transaction as such is explained without a complaint.
func TestHostileGround(t *testing.T) {
	out := service.NewScene(t).Explain(t)
	if out.Res.Partial() || out.Res.Status != api.StatusSuccess || out.Res.Provenance.TraceSource != "debug_traceTransaction" {
		t.Errorf("%s, %s, %s", out.Res.AnalysisModel, out.Res.Summary, out.Res.Provenance.TraceSource)
	}
}

// frames is how many frames the large traces have: more than are kept, in any size.
func frames() int { return size.Of(60_000, 1_000_000) }

// TestHostileMillionFrames: a trace that repeats and one that does not cost the memory of
// what is kept, not of what was sent.
func TestHostileMillionFrames(t *testing.T) {
	f := func(name string, atMost time.Duration, child func(w *bufio.Writer, i int)) {
		t.Run(name, func(t *testing.T) {
			s := service.NewScene(t)
			s.AtMost, s.Heap = atMost, int64(size.Of(128, 256))<<20
			s.Streams(func(w io.Writer) {
				out := bufio.NewWriterSize(w, 64<<10)
				fmt.Fprintf(out, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x30d40","value":"0x0","input":"0x","calls":[`, service.SceneSender, service.SceneTarget)
				for i := range frames() {
					if i > 0 {
						out.WriteByte(',')
					}
					child(out, i)
				}
				out.WriteString(`]}`)
				out.Flush()
			})
			m := s.Explain(t).Res.PrettyTraceMeta
			if m == nil || m.OriginalNodes != frames()+1 || m.KeptNodes > 50_000 {
				t.Errorf("%+v", m)
			}
		})
	}
	f("repetitive", 10*time.Second, func(w *bufio.Writer, i int) {
		fmt.Fprintf(w, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","value":"0x1","input":"0x%064x"}`, service.SceneTarget, service.SceneOther, i&0xff)
	})
	f("not repetitive", 10*time.Second, func(w *bufio.Writer, i int) {
		fmt.Fprintf(w, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","input":"0x%08x"}`, service.SceneTarget, service.Address(i), i%service.Fewer(5000))
	})
}

// TestHostileFlatTrace: the same of the other form of traces, one entry a frame.
func TestHostileFlatTrace(t *testing.T) {
	s := service.NewScene(t)
	s.Trace, s.Heap, s.AtMost = nil, 320<<20, 12*time.Second
	n := max(frames()/2, 45_000)
	s.Node.Stream("trace_transaction", func([]stdjson.RawMessage) func(io.Writer) {
		return func(w io.Writer) {
			out := bufio.NewWriterSize(w, 64<<10)
			entry := func(from, to, input, address string, subtraces int) {
				fmt.Fprintf(out, `{"action":{"callType":"call","from":"%s","to":"%s","gas":"0x1","value":"0x0","input":"%s"},"result":{"gasUsed":"0x1","output":"0x"},"subtraces":%d,"traceAddress":[%s],"type":"call"}`,
					from, to, input, subtraces, address)
			}
			out.WriteByte('[')
			entry(service.SceneSender, service.SceneTarget, "0x", "", n)
			for i := range n {
				out.WriteByte(',')
				entry(service.SceneTarget, service.Address(i), fmt.Sprintf("0x%08x", i%service.Fewer(5000)), fmt.Sprint(i), 0)
			}
			out.WriteByte(']')
			out.Flush()
		}
	})
	r := s.Explain(t).Res
	if m := r.PrettyTraceMeta; m == nil || m.OriginalNodes != n+1 || m.KeptNodes > 50_000 || r.Provenance.TraceSource != "trace_transaction" {
		t.Errorf("%+v, %s", m, r.Provenance.TraceSource)
	}
}

// TestHostilePayees: a trace that pays more accounts than any gas pays for is
// refused; the result stands on the receipt and says so.
func TestHostilePayees(t *testing.T) {
	s := service.NewScene(t)
	s.Heap = 256 << 20
	s.Streams(func(w io.Writer) {
		out := bufio.NewWriterSize(w, 64<<10)
		fmt.Fprintf(out, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x30d40","calls":[`, service.SceneSender, service.SceneTarget)
		for i := range 250_000 {
			fmt.Fprintf(out, `{"type":"CALL","from":"%s","to":"%s","value":"0x1","gas":"0x1","gasUsed":"0x1","input":"0x"},`, service.SceneTarget, service.Address(i))
		}
		out.WriteString(`null]}`)
		out.Flush()
	})
	r := s.Explain(t).Res
	if r.Provenance.TraceSource != "receipt" || r.Confidence != api.Low || !strings.Contains(r.Summary, "the trace phase failed (the data provider gave an answer that cannot be used)") {
		t.Errorf("%s, %s, %s", r.Provenance.TraceSource, r.Confidence, r.Summary)
	}
}

// TestHostileManyLogs: a receipt just below the limit is explained whole; one above it
// gives a partial result that says so.
func TestHostileManyLogs(t *testing.T) {
	fill := func(n int) *service.Scene {
		s := service.NewScene(t)
		logs := make([]any, n)
		for i := range logs {
			logs[i] = service.TransferLog(i, service.SceneToken, service.Address(2*i), service.Address(2*i+1))
		}
		s.Receipt["logs"] = logs
		return s
	}
	s := fill(service.Fewer(19_000))
	s.Heap = 200 << 20 // the garbage of a loaded machine is collected late
	out := s.Explain(t)
	if out.Res.Partial() || len(out.Res.TokenTransfers) != service.Fewer(19_000) {
		t.Errorf("%d transfers, %s", len(out.Res.TokenTransfers), out.Res.Summary)
	}
	if sent := s.Sent.Load(); size.Full() && (sent < 6<<20 || sent > 9<<20) {
		t.Errorf("the receipt was to be near 8 MiB, %d KiB were sent", sent>>10)
	}
	out = fill(24_000).Explain(t)
	if !out.Res.Partial() || !strings.Contains(out.Res.Summary, "the receipt could not be fetched: the answer of the data provider is too large") {
		t.Errorf("an oversized receipt: %s", out.Res.Summary)
	}
}

// TestHostileManyTokens: thousands of tokens, of which a bounded number is asked for.
func TestHostileManyTokens(t *testing.T) {
	s := service.NewScene(t)
	logs := make([]any, service.Fewer(15_000))
	for i := range logs {
		logs[i] = service.TransferLog(i, service.Address(i), service.SceneSender, service.SceneTarget)
	}
	s.Receipt["logs"] = logs
	s.Call = func(string, string) []byte { return textAnswer("SAME") }
	out := s.Explain(t)
	if n := s.Node.Calls("eth_call"); n > 1000 || len(out.Res.TokenTransfers) != len(logs) {
		t.Errorf("%d calls, %d transfers", n, len(out.Res.TokenTransfers))
	}
	if n := s.Sources.Calls(stubnode.All); n > 200 {
		t.Errorf("%d requests to services", n)
	}
}

// TestHostileBatch: one log that moves 60,000 ids, and one that claims 2^64.
func TestHostileBatch(t *testing.T) {
	f := func(n int, data string, want int) {
		t.Helper()
		s := service.NewScene(t)
		s.Heap = 256 << 20
		l := service.TransferLog(0, service.SceneToken, service.SceneSender, service.SceneOther)
		topics := l["topics"].([]string)
		l["topics"] = []string{"0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb", topics[1], topics[1], topics[2]} // TransferBatch
		l["data"] = data
		s.Receipt["logs"] = []any{l}
		if out := s.Explain(t); len(out.Res.TokenTransfers) != want {
			t.Errorf("%d transfers of a batch of %d, want %d: %s", len(out.Res.TokenTransfers), n, want, out.Res.Summary)
		}
	}
	n := service.Fewer(60_000)
	var b strings.Builder
	fmt.Fprintf(&b, "0x%064x%064x%064x", 64, 64+32+32*n, n)
	for i := range n {
		fmt.Fprintf(&b, "%064x", i)
	}
	fmt.Fprintf(&b, "%064x", n)
	for i := range n {
		fmt.Fprintf(&b, "%064x", i+1)
	}
	f(n, b.String(), n)
	f(1, fmt.Sprintf("0x%064x%064x%064x", 64, 64, uint64(1<<63)), 0)
}

// TestHostileManyAddresses: 100,000 addresses, of which each may be shown once.
func TestHostileManyAddresses(t *testing.T) {
	s := service.NewScene(t)
	s.AtMost, s.Heap = 10*time.Second, 400<<20
	s.Streams(func(w io.Writer) {
		fmt.Fprintf(w, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x30d40","calls":[`, service.SceneSender, service.SceneTarget)
		for i := range service.Fewer(100_000) {
			if i > 0 {
				io.WriteString(w, ",")
			}
			fmt.Fprintf(w, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","value":"0x%x","input":"0x"}`, service.SceneTarget, service.Address(i), i+1)
		}
		io.WriteString(w, `]}`)
	})
	out := s.Explain(t)
	if len(out.Res.Addresses) > 1000 || len(out.Res.BalanceChanges) == 0 {
		t.Errorf("%d addresses, %d changes", len(out.Res.Addresses), len(out.Res.BalanceChanges))
	}
}

// TestHostileDeepInput: 1,024 nested frames, each with 100 KB of input.
func TestHostileDeepInput(t *testing.T) {
	s := service.NewScene(t)
	s.AtMost = 15 * time.Second
	input := strings.Repeat("7b", size.Of(10_000, 100_000))
	s.Streams(func(w io.Writer) {
		for i := range 1024 {
			from, to := service.Address(i-1), service.Address(i)
			if i == 0 {
				from, to = service.SceneSender, service.SceneTarget
			}
			own := input
			if i == 0 {
				own = ""
			}
			fmt.Fprintf(w, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","input":"0x%s","calls":[`, from, to, own)
		}
		io.WriteString(w, strings.Repeat("]}", 1024))
	})
	out := s.Explain(t)
	if n := len(out.Res.PrettyTrace); n != 1024 {
		t.Errorf("%d nodes", n)
	}
}

// TestHostileDeepAndWide: paths of deep frames must not make the result larger than a
// fair multiple of what was sent.
func TestHostileDeepAndWide(t *testing.T) {
	s := service.NewScene(t)
	s.AtMost = 10 * time.Second
	s.Streams(func(w io.Writer) {
		for i := range 1000 {
			from := service.SceneTarget
			if i == 0 {
				from = service.SceneSender
			}
			fmt.Fprintf(w, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","input":"0x","calls":[`, from, service.SceneTarget)
		}
		for i := range 9000 {
			if i > 0 {
				io.WriteString(w, ",")
			}
			fmt.Fprintf(w, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","input":"0x","error":"x"}`, service.SceneTarget, service.SceneOther)
		}
		io.WriteString(w, strings.Repeat("]}", 1000))
	})
	out := s.Explain(t)
	if sent := s.Sent.Load(); out.Size > 8*sent {
		t.Errorf("%d KiB in, %d KiB of JSON out", sent>>10, out.Size>>10)
	}
}

// textAnswer encodes a string as a contract returns it.
func textAnswer(text string) []byte { return claimed(int64(len(text)), text) }

// claimed returns a string whose length is claimed to be another.
func claimed(n int64, text string) []byte {
	out := append(big.NewInt(32).FillBytes(make([]byte, 32)), big.NewInt(n).FillBytes(make([]byte, 32))...)
	return append(out, append([]byte(text), make([]byte, (32-len(text)%32)%32)...)...)
}

// TestHostileTokenNames: whatever symbol(), name() and decimals() answer, nothing that is
// shown carries more than plain text.
func TestHostileTokenNames(t *testing.T) {
	f := func(name string, symbol, decimals []byte) {
		t.Run(name, func(t *testing.T) {
			s := service.NewScene(t)
			s.Receipt["logs"] = []any{service.TransferLog(0, service.SceneToken, service.SceneSender, service.SceneOther), service.TransferLog(1, service.SceneToken, service.SceneOther, service.SceneSender)}
			s.Tx["blockNumber"], s.Receipt["blockNumber"], s.Block["number"] = "0xf4240", "0xf4240", "0xf4240" // before Multicall3
			s.Call = func(_, data string) []byte {
				if data == "0x313ce567" {
					return decimals
				}
				return symbol
			}
			s.Sources.SetContract(stubnode.Sourcify, 1, service.SceneToken, stubnode.Contract{Name: string(symbol), ABI: "[]"})
			out := s.Explain(t)
			for _, tr := range out.Res.TokenTransfers {
				if len([]rune(tr.TokenSymbol)) > 200 || len([]rune(tr.TokenName)) > 200 {
					t.Errorf("a symbol of %d bytes", len(tr.TokenSymbol))
				}
			}
		})
	}
	six := big.NewInt(6).FillBytes(make([]byte, 32))
	huge := bytes.Repeat([]byte{0xff}, 32)
	texts := map[string]string{
		"ANSI": "\x1b[31mUSDC\x1b[0m\x1b]8;;http://x\x07", "bidi": "CDSU\u202e\u2066abc\u200f", "script": `<script>alert(1)</script><img src=x onerror=alert(1)>`,
		"mermaid": "A;\nP0->>P1: stolen\n%%{init: {'theme':'x'}}%%\nclick P0 href \"javascript:x\"", "newlines": "US\r\nDC\u2028\u2029\v\f\x00\x85",
		"markdown": "**bold** [click](http://evil) ![x](y) `code` # head | a | b |", "homoglyph": "ՍЅDС", "marks": "Z" + strings.Repeat("\u0300\u0489", 500),
		"broken UTF-8": "\xff\xfe\xc0\x80ab", "percent": "%s%n%d#59;#quot;$$x$$", "attribute": `" onmouseover="alert(1)" x='`, "tags": "a\U000e0041\U000e0042b\ufeff\u00ad",
		"style": "</style></pre></td><base href=//x>", "json": `"},{"x":"y`, "partial": "**Partial result: x**", "1 MB": strings.Repeat("long ", 200_000),
	}
	for name, text := range texts {
		f(name, textAnswer(text), six)
	}
	f("garbage", []byte("\x00\x01garbage\xff"), []byte("no number"))
	f("4 GB claimed", claimed(4<<30, "USDC"), huge)
	f("2^63 claimed", claimed(1<<62, "USDC"), huge)
	f("offset beyond", append(huge, textAnswer("X")...), six)
	f("nothing", nil, nil)
	f("255 decimals", textAnswer("MAX"), big.NewInt(255).FillBytes(make([]byte, 32)))
}

// TestHostilePrices: a price that no market has is no price.
func TestHostilePrices(t *testing.T) {
	f := func(price, wantUSD string) {
		t.Run(price[:min(len(price), 20)], func(t *testing.T) {
			s := service.NewScene(t)
			s.Tx["value"], s.Trace.(service.Object)["value"] = "0xde0b6b3a7640000", "0xde0b6b3a7640000"
			s.Sources.SetPrice("coingecko:ethereum", stubnode.Price{USD: price, Symbol: "ETH", Confidence: "0.99"})
			s.Sources.SetPrice("ethereum:0x0000000000000000000000000000000000000000", stubnode.Price{USD: price, Symbol: "ETH", Confidence: "0.99"})
			out := s.Explain(t)
			got := "none"
			for _, c := range out.Res.BalanceChanges {
				if c.Address.String() == service.SceneTarget && c.Tokens[0].PriceUSD != nil {
					got = c.Tokens[0].PriceUSD.String()
				}
			}
			if got != wantUSD {
				t.Errorf("price %s is shown as %s, want %s", price, got, wantUSD)
			}
			if out.Size > 64<<10 {
				t.Errorf("%d KiB of JSON", out.Size>>10)
			}
		})
	}
	f("3000.5", "3000.5")
	f("1e300", "none")
	f("1e999999999", "none")
	f("-12", "none")
	f("0", "none")
	f(`"NaN"`, "none")
	f("null", "none")
	f(`{"a":1}`, "none")
	f("1e-30", "0.000000000000000000000000000001")
	f(strings.Repeat("9", 5000), "none")
}

// TestHostileVerifiedABIs: an ABI that no compiler would write costs its own names only.
func TestHostileVerifiedABIs(t *testing.T) {
	f := func(name, abi string) {
		t.Run(name, func(t *testing.T) {
			s := service.NewScene(t)
			s.Tx["input"] = "0xa9059cbb" + strings.Repeat("0", 24) + service.SceneOther[2:] + strings.Repeat("0", 63) + "5"
			s.Trace.(service.Object)["input"] = s.Tx["input"]
			s.Receipt["logs"] = []any{service.TransferLog(0, service.SceneTarget, service.SceneSender, service.SceneOther)}
			s.Sources.SetContract(stubnode.Sourcify, 1, service.SceneTarget, stubnode.Contract{Name: "Odd", ABI: abi})
			out := s.Explain(t)
			if out.Res.PrettyTrace[0].FunctionName != "transfer" {
				t.Errorf("the call is named %q", out.Res.PrettyTrace[0].FunctionName)
			}
		})
	}
	one := func(typ string) string {
		return fmt.Sprintf(`[{"type":"function","name":"transfer","inputs":[{"type":"address","name":"to"},{"type":"uint256","name":"value"}]},{"type":"function","name":"odd","inputs":[{"type":%q,"name":"x"}]}]`, typ)
	}
	f("array of 2^32", one("uint256[4294967296]"))
	f("arrays in arrays", one("uint256"+strings.Repeat("[1000000]", 25)))
	f("slices in slices", one("uint256"+strings.Repeat("[]", 100)))
	f("no type", one("uint7[-1](address)"))
	f("tuples in tuples", `[{"type":"function","name":"odd","inputs":[`+strings.Repeat(`{"type":"tuple","name":"a","components":[`, 1000)+`{"type":"uint256"}`+strings.Repeat(`]}`, 1000)+`]}]`)
	f("wide", `[{"type":"function","name":"odd","inputs":[`+strings.Repeat(`{"type":"uint256","name":"a"},`, 60_000)+`{"type":"bool"}]}]`)
	f("many", `[`+strings.Repeat(`{"type":"function","name":"f","inputs":[]},`, 20_000)+`{"type":"receive"}]`)
	f("same name", `[`+strings.Repeat(`{"type":"function","name":"f","inputs":[{"type":"uint256"}]},`, 4_900)+`{"type":"receive"}]`)
	f("no list", `"0x"`)
	f("names", `[{"type":"function","name":"tra<script>\u202ensfer\n","inputs":[{"type":"address","name":"<b>\u001b[31m"}]}]`)
}

// TestHostileManyCandidates: a signature database that answers 10,000 names for each
// selector has each of them proved by its hash.
func TestHostileManyCandidates(t *testing.T) {
	s := service.NewScene(t)
	var calls []any
	for i := range 40 {
		c := service.Frame("CALL", service.SceneTarget, service.SceneOther, nil)
		c["input"] = fmt.Sprintf("0x%08x%064x", 0xfe000000+i, i)
		c["output"] = "0x01"
		calls = append(calls, c)
		var list []stubnode.Signature
		for k := range service.Fewer(10_000) {
			list = append(list, stubnode.Signature{Name: fmt.Sprintf("f%d_%d(uint256)", i, k)})
		}
		s.Sources.SetFunction(fmt.Sprintf("0x%08x", 0xfe000000+i), list...)
	}
	s.Trace.(service.Object)["calls"] = calls
	out := s.Explain(t)
	for _, n := range out.Res.PrettyTrace {
		if n.FunctionName != "" && n.FunctionName != "receive" {
			t.Errorf("an unproved name is shown: %s", n.FunctionName)
		}
	}
}

// TestHostileProxyLoop: proxies that stand for each other, or for themselves.
func TestHostileProxyLoop(t *testing.T) {
	f := func(name string, implementation func(string) string) {
		t.Run(name, func(t *testing.T) {
			s := service.NewScene(t)
			s.Code = "0x60f4" // DELEGATECALL somewhere
			s.Trace.(service.Object)["calls"] = []any{service.Frame("DELEGATECALL", service.SceneTarget, service.SceneOther, []any{service.Frame("DELEGATECALL", service.SceneTarget, service.SceneTarget, nil)})}
			s.Slot = func(a, _ string) string { return "0x" + strings.Repeat("0", 24) + implementation(a)[2:] }
			s.Call = func(string, string) []byte { return common32(service.SceneTarget) }
			for _, a := range []string{service.SceneTarget, service.SceneOther} {
				s.Sources.SetContract(stubnode.Sourcify, 1, a, stubnode.Contract{Name: "Loop", ABI: "[]", ProxyType: "EIP1967Proxy", Implementations: []stubnode.Implementation{{Address: implementation(a)}}})
			}
			s.Explain(t)
			if n := s.Node.Calls("eth_getStorageAt"); n > 400 {
				t.Errorf("%d reads of storage", n)
			}
		})
	}
	f("itself", func(a string) string { return a })
	f("in turn", func(a string) string {
		if a == service.SceneTarget {
			return service.SceneOther
		}
		return service.SceneTarget
	})
}

func common32(address string) []byte {
	b, _ := hex.DecodeString(strings.Repeat("0", 24) + address[2:])
	return b
}

// TestHostileGiganticArrays: calldata that claims arrays which it does not hold.
func TestHostileGiganticArrays(t *testing.T) {
	f := func(selector string, words ...string) {
		s := service.NewScene(t)
		input := "0x" + selector
		for _, w := range words {
			input += strings.Repeat("0", 64-len(w)) + w
		}
		s.Tx["input"], s.Trace.(service.Object)["input"] = input, input
		s.Explain(t)
	}
	f("ac9650d8", "20", "ffffffffffffffff")                                  // multicall(bytes[])
	f("ac9650d8", "20", "7fffffffffffffff", "20")                            //
	f("82ad56cb", "20", strings.Repeat("f", 64))                             // aggregate3
	f("38ed1739", "1", "1", "a0", "1", "1", "100000000")                     // swapExactTokensForTokens
	f("2eb2c2d6", "1", "2", "a0", "a0", "a0", "ffffff", "1")                 // safeBatchTransferFrom
	f("8d80ff0a", "20", strings.Repeat("f", 62))                             // multiSend
	f("3593564c", "60", "a0", "1", "ffffffff", "00", "ffffffffff", "ffffff") // execute (universal router)
}

// TestHostileContradictions: answers that cannot all be true are not shown as
// truth. Each case says what the result must stand on and what it must say.
func TestHostileContradictions(t *testing.T) {
	const other = "0x0bad000000000000000000000000000000000000000000000000000000000001"
	confidence := api.Low
	f := func(name, wantSource, want string, twist func(s *service.Scene)) {
		t.Run(name, func(t *testing.T) {
			s := service.NewScene(t)
			s.Tx["value"], s.Trace.(service.Object)["value"] = "0x5", "0x5"
			twist(s)
			r := s.Explain(t).Res
			said := strings.Join(append(r.Provenance.Notes, r.Summary), "\n")
			if r.Provenance.TraceSource != wantSource || r.Confidence != confidence || !strings.Contains(said, want) {
				t.Errorf("stands on %q with %s confidence and says %q; want %q, %q", r.Provenance.TraceSource, r.Confidence, said, wantSource, want)
			}
		})
	}
	root := func(key string, v any) func(*service.Scene) {
		return func(s *service.Scene) { s.Trace.(service.Object)[key] = v }
	}
	f("transaction of another hash", "debug_traceTransaction", "the transaction could not be fetched: the data provider gave an answer that cannot be used", func(s *service.Scene) { s.Tx["hash"] = other })
	f("receipt of another transaction", "debug_traceTransaction", "the receipt could not be fetched: the data provider gave an answer that cannot be used", func(s *service.Scene) { s.Receipt["transactionHash"] = other })
	f("receipt of another block", "debug_traceTransaction", "the receipt is of block 0x0bad", func(s *service.Scene) { s.Receipt["blockHash"] = other })
	f("receipt of another height", "debug_traceTransaction", "the receipt is of block 1,", func(s *service.Scene) { s.Receipt["blockNumber"] = "0x1" })
	f("another block", "debug_traceTransaction", "the header is of block 0x0bad", func(s *service.Scene) { s.Block["hash"] = other })
	f("trace from another", "receipt", "outermost call is from", root("from", service.SceneOther))
	f("trace to another", "receipt", "outermost call goes to", root("to", service.SceneOther))
	f("trace of another value", "receipt", "carries 6 wei, the transaction 5", root("value", "0x6"))
	f("trace of other calldata", "receipt", "other calldata", root("input", "0x12345678"))
	f("trace of a creation", "receipt", "outermost call goes to", root("type", "CREATE"))
	f("trace that fails", "receipt", "it ends in a failure, the receipt in success", root("error", "out of gas"))
	f("trace that succeeds", "receipt", "it ends in success, the receipt in a failure", func(s *service.Scene) { s.Receipt["status"] = "0x0" })
	f("a status that is none", "receipt", "the receipt in a failure", func(s *service.Scene) { s.Receipt["status"] = "0xffffffffffffffff" })
	confidence = api.Medium // an answer that is not to the question is as none
	f("block of another height", "debug_traceTransaction", "the header of the block could not be fetched", func(s *service.Scene) { s.Block["number"] = "0x1" })
	t.Run("transaction of another chain", func(t *testing.T) { // then nothing that came from there counts
		s := service.NewScene(t)
		s.Tx["chainId"] = "0x38"
		res, err := (app.Local{service.NewAnalyst(t, s.Flags)}).Explain(t.Context(), api.Request{TxHash: service.SceneHash, ChainID: s.Chain}, nil)
		if f := api.FaultOf(err); res != nil || f.Code != api.CodeUnavailable || !strings.Contains(f.Message, "ethereum-mainnet") {
			t.Errorf("%+v, %v", res, err)
		}
	})
}
