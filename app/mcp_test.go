package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
	"txlens/transport"
)

// echo explains any transaction by its hash.
type echo struct{}

func (echo) Check(api.Request) error { return nil }

func (echo) Explain(_ context.Context, spec transport.RunSpec) (*api.Result, error) {
	spec.Sink(api.Event{Type: api.EventComplete})
	return &api.Result{TxHash: spec.Request.TxHash, Status: api.StatusSuccess, Summary: "A transfer."}, nil
}

// TestMCPOnPipes: a client of the SDK calls the tools over a pair of pipes. The newest
// runs are kept, older ones are not.
func TestMCPOnPipes(t *testing.T) {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveMCP(t.Context(), echo{}, toServer, fromServer) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string, args map[string]any) (runID, text string, failed bool) {
		t.Helper()
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		text = res.Content[0].(*sdk.TextContent).Text
		var out struct{ RunID string }
		if !res.IsError {
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(err)
			}
		}
		return out.RunID, text, res.IsError
	}
	var ids []string
	for i := range keptRuns + 1 {
		id, text, failed := call("explain_transaction", map[string]any{"txHash": fmt.Sprintf("%064x", i)})
		if failed || id == "" {
			t.Fatal(text)
		}
		ids = append(ids, id)
	}
	if _, text, failed := call("get_explanation", map[string]any{"runId": ids[0]}); !failed {
		t.Errorf("the oldest run is kept: %s", text)
	}
	if _, text, failed := call("get_explanation", map[string]any{"runId": ids[keptRuns]}); failed || !strings.Contains(text, fmt.Sprintf("%064x", keptRuns)) {
		t.Error(text)
	}
	if _, text, failed := call("explain_transaction", map[string]any{"txHash": ids[0], "background": true}); !failed {
		t.Error(text)
	}
	if _, text, failed := call("get_job", map[string]any{"jobId": ids[0]}); !failed {
		t.Error(text)
	}
	s.Close()
	fromClient.Close()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
