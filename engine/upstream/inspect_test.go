package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"txlens/testkit/stubnode"
)

// TestInspect: an endpoint's chain, head, clock and traces.
func TestInspect(t *testing.T) {
	f := func(opt stubnode.Options, traces []Support, kind Kind) Inspection {
		t.Helper()
		_, url := newNode(t, opt)
		list := newClient(t, quick(url)).Inspect(context.Background(), mustChain(t, 1))
		if len(list) != 1 {
			t.Fatalf("%d inspections", len(list))
		}
		got := list[0]
		var err *Error
		if errors.As(got.Err, &err); (err != nil) != (kind != "") || err != nil && err.Kind != kind {
			t.Errorf("error %v, want %q", got.Err, kind)
		}
		for i, m := range got.Traces {
			if m.Support != traces[min(i, len(traces)-1)] {
				t.Errorf("%s is %s", m.Name, m.Support)
			}
		}
		if len(got.Traces) != 4 || !got.Given || got.Host != "127.0.0.1" {
			t.Errorf("%+v", got)
		}
		return got
	}
	refuse := func(e *stubnode.RPCError) stubnode.Handler {
		return func([]json.RawMessage) (json.RawMessage, error) { return nil, e }
	}
	answer := func(doc string) stubnode.Handler {
		return func([]json.RawMessage) (json.RawMessage, error) { return json.RawMessage(doc), nil }
	}
	handle := func(method string, h stubnode.Handler) stubnode.Options {
		return stubnode.Options{Handlers: map[string]stubnode.Handler{method: h}}
	}
	got := f(stubnode.Options{}, []Support{Supported, NotSupported}, "")
	if got.Block != blockNumber || !got.Dated || got.Ahead > time.Minute || got.Ahead < -time.Minute || got.Age < time.Hour {
		t.Errorf("%+v", got)
	}
	f(stubnode.Options{NoTrace: true}, []Support{NotSupported}, "")
	f(handle("trace_transaction", answer(`[]`)), []Support{Supported, Supported, NotSupported}, "")
	f(handle("trace_replayTransaction", answer(`{"trace":[]}`)), []Support{Supported, NotSupported, Supported, NotSupported}, "")
	f(handle("ots_traceTransaction", answer(`[]`)), []Support{Supported, NotSupported, NotSupported, Supported}, "")
	f(handle("debug_traceTransaction", refuse(stubnode.ErrNoTransaction)), []Support{Supported, NotSupported}, "")
	f(handle("eth_chainId", answer(`"0xa"`)), []Support{NotKnown}, KindWrongChain)
	f(handle("eth_chainId", answer(`1`)), []Support{NotKnown}, KindWrongChain)
	f(handle("eth_getBlockByNumber", answer(`[]`)), []Support{NotKnown}, KindGarbage)
	f(handle("eth_getBlockByNumber", answer(`{"number":"0x1","timestamp":"yesterday"}`)), []Support{NotKnown}, KindGarbage)
	f(handle("eth_chainId", refuse(stubnode.ErrMethodNotFound)), []Support{NotKnown}, KindUnsupported)
}

// TestTraceExplorer: the explorer of a chain is named where analyses ask it.
func TestTraceExplorer(t *testing.T) {
	f := func(change func(*Config), chainID uint64, want string) {
		t.Helper()
		cfg := quick("http://127.0.0.1:1")
		change(&cfg)
		if got := newClient(t, cfg).TraceExplorer(mustChain(t, chainID)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(func(*Config) {}, 1, "eth.blockscout.com")
	f(func(c *Config) { c.BlockscoutURL = "https://own.example/api" }, 56, "own.example")
	f(func(c *Config) { c.SourcesOff = true }, 1, "")
}

// TestInspectDead: an endpoint that does not answer is said to, and costs one attempt.
func TestInspectDead(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer srv.Close()
	list := newClient(t, quick(srv.URL, "http://127.0.0.1:1")).Inspect(context.Background(), mustChain(t, 1))
	if len(list) != 2 || list[0].Err == nil || list[1].Err == nil || asked != 1 {
		t.Errorf("%d attempts: %+v", asked, list)
	}
}

// TestCheckEtherscanKey: a key that is refused is told apart from one that is not given.
func TestCheckEtherscanKey(t *testing.T) {
	f := func(key, body string, kind Kind) {
		t.Helper()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(body)) }))
		defer srv.Close()
		cfg := quick()
		cfg.EtherscanURL, cfg.EtherscanKey = srv.URL, key
		var err *Error
		errors.As(newClient(t, cfg).CheckEtherscanKey(context.Background(), mustChain(t, 1)), &err)
		if (err != nil) != (kind != "") || err != nil && err.Kind != kind {
			t.Errorf("%s: %v", body, err)
		}
	}
	f("", `{}`, "")
	f("k", `{"status":"1","result":[{"ABI":"[]","ContractName":"WETH9"}]}`, "")
	f("k", `{"status":"0","result":"Invalid API Key"}`, KindPayment)
	f("k", `{"status":"0","result":"Max rate limit reached"}`, KindRateLimited)
}
