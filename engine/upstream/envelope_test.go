package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// readOne reads an answer to request 7 and gives the text of its result.
func readOne(text string) (string, *rpcFault, error) {
	dec := newDecoder(strings.NewReader(text))
	var result string
	a, err := readAnswer(dec, func(dec *jsontext.Decoder) error {
		v, err := dec.ReadValue()
		result = string(v)
		return err
	})
	if err == nil {
		err = atEnd(dec)
	}
	if err == nil {
		err = a.check(7)
	}
	if a.null {
		result = "null"
	}
	return result, a.fault, err
}

func TestEnvelope(t *testing.T) {
	good := func(text, want string) {
		t.Helper()
		if got, fault, err := readOne(text); err != nil || fault != nil || got != want {
			t.Errorf("%s: got %q, %v, %v", text, got, fault, err)
		}
	}
	good(`{"jsonrpc":"2.0","id":7,"result":"0x1"}`, `"0x1"`)
	good(`{"result":{"a":[1,2]},"id":7,"jsonrpc":"2.0"}`, `{"a":[1,2]}`)
	good(`{"jsonrpc":"2.0","result":null,"id":7}`, `null`)
	good(" {\"id\":7,\n\"extra\":{\"result\":2},\"jsonrpc\":\"2.0\",\"result\":[],\"error\":null}\n ", `[]`)

	bad := func(text string) {
		t.Helper()
		if got, fault, err := readOne(text); err == nil {
			t.Errorf("%s: accepted as %q, %v", text, got, fault)
		}
	}
	bad(``)
	bad(`null`)
	bad(`"text"`)
	bad(`[]`)
	bad(`[{"jsonrpc":"2.0","id":7,"result":1}]`)
	bad(`{}`)
	bad(`{"id":7,"result":1}`)
	bad(`{"jsonrpc":"1.0","id":7,"result":1}`)
	bad(`{"jsonrpc":2.0,"id":7,"result":1}`)
	bad(`{"jsonrpc":"2.0","result":1}`)
	bad(`{"jsonrpc":"2.0","id":8,"result":1}`)
	bad(`{"jsonrpc":"2.0","result":1,"id":8}`)
	bad(`{"jsonrpc":"2.0","id":"7","result":1}`)
	bad(`{"jsonrpc":"2.0","id":null,"result":1}`)
	bad(`{"jsonrpc":"2.0","id":{"a":7},"result":1}`)
	bad(`{"jsonrpc":"2.0","id":7}`)
	bad(`{"jsonrpc":"2.0","id":7,"result":1,"result":2}`)
	bad(`{"jsonrpc":"2.0","id":7,"id":7,"result":2}`)
	bad(`{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"x"}}`)
	bad(`{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x"}}`)
	bad(`{"jsonrpc":"2.0","id":7,"result":1}{"jsonrpc":"2.0"}`)
	bad(`{"jsonrpc":"2.0","id":7,"result":1} trailing`)
	bad(`{"jsonrpc":"2.0","id":7,"result":"cut`)
	bad(`{"jsonrpc":"2.0","id":7,"result":` + strings.Repeat("[", 20_000))
	bad("\x00\xff garbage")
	bad(`<html></html>`)
}

func TestEnvelopeErrors(t *testing.T) {
	f := func(text string, code int64, message, data string) {
		t.Helper()
		_, fault, err := readOne(text)
		if err != nil || fault == nil {
			t.Errorf("%s: %v, %v", text, fault, err)
			return
		}
		if fault.code != code || fault.message != message || string(fault.data) != data {
			t.Errorf("%s: got %+v", text, *fault)
		}
	}
	f(`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}`, -32000, "no", "")
	f(`{"jsonrpc":"2.0","id":null,"error":{"message":"no","code":-32700}}`, -32700, "no", "")
	f(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, -32700, "no", "")
	f(`{"jsonrpc":"2.0","id":7,"result":null,"error":{"code":1,"message":"no"}}`, 1, "no", "")
	f(`{"jsonrpc":"2.0","id":7,"error":"plain"}`, 0, "plain", "")
	f(`{"jsonrpc":"2.0","id":7,"error":{"code":"-32005","message":7}}`, -32005, "", "")
	f(`{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"execution reverted","data":"0x6162"}}`, 3, "execution reverted", "ab")
	f(`{"jsonrpc":"2.0","id":7,"error":{"code":-32015,"message":"VM execution error.","data":"Reverted 0x6162"}}`, -32015, "VM execution error.", "ab")
	f(`{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"m","data":{"message":"x","data":"0x6162"}}}`, 3, "m", "ab")
	f(`{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"m","data":[1,{"data":"0x6162"}]}}`, 3, "m", "")
	f(`{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"m","data":"0x616"}}`, 3, "m", "")
}

func TestClassify(t *testing.T) {
	f := func(op string, code int64, message string, want Kind) {
		t.Helper()
		if got := classify(op, &rpcFault{code: code, message: message}); got != want {
			t.Errorf("%d %q: %s, want %s", code, message, got, want)
		}
	}
	f("debug_traceTransaction", -32601, "the method debug_traceTransaction does not exist/is not available", KindUnsupported)
	f("debug_traceTransaction", -32601, "", KindUnsupported)
	f("debug_traceTransaction", -32053, "rpc method is not whitelisted", KindUnsupported)
	f("debug_traceTransaction", -32000, "Archive, Debug and Trace requests are not available on your current plan", KindUnsupported)
	f("debug_traceTransaction", -32000, "tracer not found", KindUnsupported)
	f("debug_traceTransaction", -32000, "transaction not found", KindNotFound)
	f("debug_traceTransaction", -32000, "historical state is not available", KindNoState)
	f("debug_traceTransaction", -32000, "required historical state unavailable (reexec=128)", KindNoState)
	f("debug_traceTransaction", -32000, "execution timeout", KindTimeout)
	f("eth_getBalance", -32000, "missing trie node 9a2f (path )", KindNoState)
	f("eth_getBalance", -32002, "No state available for block 36600 (0x98)", KindNoState)
	f("eth_call", 3, "execution reverted: no", KindReverted)
	f("eth_call", -32000, "execution reverted", KindReverted)
	f("eth_call", -32015, "VM execution error.", KindReverted)
	f("eth_call", -32000, "invalid opcode: opcode 0xfe not defined", KindReverted)
	f("eth_call", -32000, "out of gas", KindReverted)
	f("eth_getBalance", -32000, "out of gas", KindRejected)
	f("eth_call", -32005, "daily request count exceeded, request rate limited", KindRateLimited)
	f("eth_call", -32016, "over rate limit", KindRateLimited)
	f("eth_call", -32005, "", KindRateLimited)
	f("eth_call", -32602, "invalid argument 0", KindRejected)
	f("eth_call", -32005, "limit of 20 requests per second reached, raise your quota", KindRateLimited)
	f("eth_getTransactionByHash", -32000, "daily quota exceeded", KindPayment)
	f("eth_getTransactionByHash", -32000, "You have used up your credits, please upgrade your plan", KindPayment)
	f("eth_getTransactionByHash", -32001, "Unauthorized: you must authenticate your request with an API key", KindPayment)
	f("debug_traceTransaction", -32000, "not available on your current plan; use a paid API key", KindUnsupported)
	f("eth_getBlockByNumber", -32603, "internal error", KindServer)
	f("eth_getBlockByNumber", -32603, "1 upstream not synced", KindServer)
	f("eth_getBlockByNumber", -32011, "no backend is currently healthy to serve traffic", KindServer)
	f("eth_getBlockByNumber", -32010, "backend offline", KindServer)
	f("eth_getBlockByNumber", 30, "Request timeout on the free tier, please upgrade your tier to the paid one", KindServer)
	f("debug_traceTransaction", 30, "Request timeout on the free tier, please upgrade your tier to the paid one", KindServer)
	f("debug_traceTransaction", 35, "trace methods are not available on the free tier", KindUnsupported)
	f("eth_getBlockByNumber", 19, "Temporary internal error. Please retry, trace-id: 9f1b", KindServer)
	f("eth_getBlockByNumber", -32000, "request failed or timed out", KindTimeout)
	f("eth_getBlockByNumber", -32007, "50/second request limit reached", KindRateLimited)
	f("eth_getBlockByNumber", -32009, "", KindRateLimited)
	f("eth_getBlockByNumber", 429, "The requests per second (RPS) of your requests are higher than your plan allows.", KindRateLimited)
	f("eth_getBlockByNumber", -32000, "RPS limit reached", KindRateLimited)
	f("eth_getTransactionReceipt", 4444, "pruned history unavailable", KindNoState)
	f("debug_traceTransaction", -32000, "tracing failed: execution reverted", KindRejected)
	f("trace_transaction", 3, "execution reverted", KindRejected)
	f("eth_getCode", -32015, "VM execution error.", KindRejected)
	f("eth_call", -32000, "VM Exception while processing transaction: revert", KindReverted)
}

func TestBatchAnswers(t *testing.T) {
	read := func(text string) ([]*batchAnswer, error) {
		return readBatch(newDecoder(strings.NewReader(text)), 5, 3)
	}
	f := func(text string, want ...string) {
		t.Helper()
		got, err := read(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		for i, w := range want {
			have := "-"
			switch {
			case got[i] == nil:
			case got[i].fault != nil:
				have = "error"
			case got[i].null:
				have = "null"
			default:
				have = string(got[i].result)
			}
			if have != w {
				t.Errorf("%s: member %d is %s, want %s", text, i, have, w)
			}
		}
	}
	f(`[{"jsonrpc":"2.0","id":7,"result":3},{"jsonrpc":"2.0","id":5,"result":1},{"jsonrpc":"2.0","result":2,"id":6}]`, "1", "2", "3")
	f(`[{"jsonrpc":"2.0","id":6,"result":null},{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}]`, "-", "null", "error")
	f(` [ ] `, "-", "-", "-")

	bad := func(text string) {
		t.Helper()
		if _, err := read(text); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
	bad(`{"jsonrpc":"2.0","id":5,"result":1}`)
	bad(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}`)
	bad(`[{"jsonrpc":"2.0","id":5,"result":1},{"jsonrpc":"2.0","id":5,"result":2}]`)
	bad(`[{"jsonrpc":"2.0","id":4,"result":1}]`)
	bad(`[{"jsonrpc":"2.0","id":8,"result":1}]`)
	bad(`[{"jsonrpc":"2.0","id":"5","result":1}]`)
	bad(`[{"jsonrpc":"1.0","id":5,"result":1}]`)
	bad(`[{"jsonrpc":"2.0","id":5,"result":1}`)
	bad(`[null]`)
	bad(`[] []`)
	bad(``)
}

// TestCaptureTakesExactlyTheResult cuts values of many sizes out of envelopes
// with the result at several places, read in pieces of several sizes.
func TestCaptureTakesExactlyTheResult(t *testing.T) {
	f := func(result, before, after string, piece int) {
		t.Helper()
		text := "{" + before + "\"result\" : \n" + result + " " + after + "}"
		tee := &capture{r: &pieces{text: text, n: piece}}
		dec := newDecoder(tee)
		var got *packed
		_, err := readAnswer(dec, func(dec *jsontext.Decoder) (err error) {
			tee.begin(dec)
			if err = dec.SkipValue(); err == nil {
				got, err = tee.end(dec)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%d bytes, pieces of %d: %v", len(result), piece, err)
		}
		r, done, err := got.open()
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if out, err := io.ReadAll(r); err != nil || string(out) != result {
			t.Errorf("%d bytes, pieces of %d: %d other bytes captured, %v", len(result), piece, len(out), err)
		}
	}
	results := []string{`1`, `"x"`, `{}`, `[1, 2]`, `true`}
	for _, n := range []int{100, plainBelow - 1, plainBelow, plainBelow + 1, heldBack, 2*heldBack + 7, 1 << 20} {
		results = append(results, `"`+strings.Repeat("a", n)+`"`, `[`+strings.Repeat(`{"k":"v"},`, n/10)+`0]`)
	}
	for _, result := range results {
		for _, piece := range []int{1 << 20, 4096, 777} {
			f(result, ``, ``, piece)
			f(result, `"jsonrpc":"2.0","id":1,`, `,"tail":"`+strings.Repeat("z", 300_000)+`"`, piece)
			f(result, `"head":"`+strings.Repeat("z", 100_000)+`",`, `,"id":1`, piece)
		}
	}
}

// pieces is a reader that gives at most n bytes at a time.
type pieces struct {
	text string
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.n)], p.text)
	p.text = p.text[n:]
	return n, nil
}

func TestRequestsAreValidJSON(t *testing.T) {
	for _, a := range []Ask{AskTransaction(hashA), AskReceipt(hashA), AskBlock(7, true), AskBlock(7, false), AskBalance(alice, 1), AskNonce(alice, 1), AskCode(alice, 1), AskStorage(alice, hashA, 1), AskCall(alice, []byte{1, 2}, 1)} {
		text := appendRequest(nil, 1, a.method, a.params)
		if !jsontext.Value(text).IsValid() {
			t.Errorf("%s", text)
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"a":[1,2,"\u0041"]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"m","data":{"data":"0x00"}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":null,"error":null}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":7,"result":1},{"jsonrpc":"2.0","id":8,"error":{}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &body{r: bytes.NewReader(text), left: 1 << 20}
		tee := &capture{r: b}
		dec := newDecoder(tee)
		var kept *packed
		a, err := readAnswer(dec, func(dec *jsontext.Decoder) (err error) {
			tee.begin(dec)
			if err = dec.SkipValue(); err == nil {
				kept, err = tee.end(dec)
			}
			return err
		})
		if errors.Is(err, errCapture) {
			t.Fatal(err)
		}
		if err == nil && a.check(7) == nil && kept != nil && !jsontext.Value(kept.data).IsValid(jsonOptions...) && kept.plain {
			t.Fatalf("captured %q", kept.data)
		}
		readBatch(newDecoder(bytes.NewReader(text)), 7, 2)
		if fault := readAnyFault(&body{r: bytes.NewReader(text), left: 1 << 10}); fault != nil {
			(&endpoint{}).refusal("eth_call", fault)
		}
	})
}

func ExampleError() {
	err := newError(KindUnreachable, "connection refused").at("eth_getBalance", "rpc.example.org", "base-mainnet")
	fmt.Println(err)
	fmt.Println(err.Hint)
	// Output:
	// ask eth_getBalance of rpc.example.org for base-mainnet: connection refused
	// check the URL of the endpoint and the network
}
