package transport

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/testkit/size"
	"txlens/transport/mcp"
)

// TestMCPAsksForPayment: a tool that needs an analysis asks for a payment where the
// service is sold, in data for programs and in text for models. A credential as MCP has it
// is the one of HTTP, to the letter.
func TestMCPAsksForPayment(t *testing.T) {
	sh := sellWith(t, nil, nil)
	s := dial(t, sh.url, mcp.Versions()[0], nil)
	f := func(name string, args map[string]any, credential any, code int64, challenged bool) json.RawMessage {
		t.Helper()
		p := &sdk.CallToolParams{Name: name, Arguments: args}
		if credential != nil {
			p.Meta = sdk.Meta{mcp.CredentialKey: credential}
		}
		_, err := s.CallTool(t.Context(), p)
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != code {
			t.Fatalf("%s: %v, want code %d", name, err, code)
		}
		var data struct {
			HTTPStatus int
			Challenges []json.RawMessage
			Problem    struct{ Type string }
		}
		if err := json.Unmarshal(rpc.Data, &data); err != nil || data.Problem.Type == "" || challenged != (len(data.Challenges) == 1) {
			t.Fatalf("%s: %v %s", name, err, rpc.Data)
		}
		if !challenged {
			return nil
		}
		if !strings.HasPrefix(rpc.Message, "Payment re") || !strings.Contains(rpc.Message, "\nChallenge: "+string(data.Challenges[0])) || len(rpc.Message) < len(data.Challenges[0])+60 {
			t.Errorf("a model that sees only text reads %q", rpc.Message)
		}
		return data.Challenges[0]
	}
	args := map[string]any{"txHash": hash}
	doc := f("explain_transaction", args, nil, -32042, true)
	var c map[string]any
	if err := json.Unmarshal(doc, &c); err != nil || c["request"].(map[string]any)["amount"] != "10000" {
		t.Fatalf("%v %s", err, doc)
	}
	// A voucher of a channel that nobody knows is refused, with a fresh challenge.
	f("explain_transaction", args, map[string]any{"challenge": c, "payload": map[string]any{"action": "nonsense"}}, -32043, true)

	header, err := credentialHeader([]byte(`{"challenge":` + string(doc) + `,"payload":{"action":"voucher"},"source":"did:pkh:x"}`))
	if err != nil {
		t.Fatal(err)
	}
	cr, err := mpp.ParseCredential(header)
	if err != nil {
		t.Fatal(err)
	}
	again, err := challengeJSON(&cr.Challenge)
	if err != nil || string(again) != string(doc) || cr.Source != "did:pkh:x" {
		t.Errorf("the challenge came back as %s, %v; want %s", again, err, doc)
	}
	// The members of the request may come in any order: the challenge was made of canonical JSON.
	shuffled, err := json.Marshal(map[string]any{"challenge": map[string]any{"request": json.RawMessage(`{"b": 1, "a":"x"}`)}, "payload": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	if header, err = credentialHeader(shuffled); err != nil {
		t.Fatal(err)
	}
	plain, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(header, "Payment "))
	if want := base64.RawURLEncoding.EncodeToString([]byte(`{"a":"x","b":1}`)); err != nil || !strings.Contains(string(plain), want) {
		t.Errorf("the request is not canonical: %s, %v", plain, err)
	}
	for _, bad := range []string{`1`, `{"challenge":1}`, `{"challenge":{"request":{"a":1,"a":2}}}`, `[]`} {
		if _, err := credentialHeader([]byte(bad)); err == nil {
			t.Errorf("%s is a credential", bad)
		}
	}
	if list, _, failed := use(t, s, "list_chains", nil); failed || len(list.Chains) == 0 {
		t.Error("the list of chains is not free")
	}
}

// TestMCPSessions: many clients at once leave nothing behind. TXLENS_MCP_SOAK says for how
// long they go on; without it each makes three calls.
func TestMCPSessions(t *testing.T) {
	soak, _ := time.ParseDuration(os.Getenv("TXLENS_MCP_SOAK"))
	srv, url := start(t, Config{}, func(_ context.Context, req api.Request) (*api.Result, error) { return result(req), nil })
	shared := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 500}}
	n, before := size.Of(50, 500), sessionGoroutines()
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() {
			c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			tr := &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: shared, MaxRetries: -1}
			s, err := c.Connect(t.Context(), tr, &sdk.ClientSessionOptions{ProtocolVersion: mcp.Versions()[i%3]})
			if err != nil {
				t.Error(err)
				return
			}
			for calls, end := 0, time.Now().Add(soak); calls < 3 || time.Now().Before(end); calls++ {
				if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_chains", Arguments: map[string]any{"text": "base"}}); err != nil {
					t.Error(err)
					return
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	until(t, "the sessions ended", func() bool { return srv.mcp().server.Sessions() == 0 })
	shared.CloseIdleConnections()
	until(t, "the goroutines ended", func() bool { return sessionGoroutines() <= before })
}

// sessionGoroutines counts the goroutines of sessions of the Model Context Protocol, on either
// side. Those of connections that fasthttp keeps for some seconds are not among them.
func sessionGoroutines() (n int) {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if bytes.Contains(stack, []byte("go-sdk/mcp.")) || bytes.Contains(stack, []byte("txlens/transport/mcp.")) {
			n++
		}
	}
	return n
}
