package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/gethdata"
)

// overRPC reads state the way the program does, with plain queries.
type overRPC struct {
	url string
	at  uint64
}

func (r *overRPC) ask(ctx context.Context, out any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	if raw, ok := out.(*json.RawMessage); ok {
		*raw = answer.Result
		return nil
	}
	return json.Unmarshal(answer.Result, out)
}

func (r *overRPC) Balance(ctx context.Context, a common.Address) (*big.Int, error) {
	var v hexutil.Big
	err := r.ask(ctx, &v, "eth_getBalance", a, hexutil.Uint64(r.at))
	return v.ToInt(), err
}

func (r *overRPC) Nonce(ctx context.Context, a common.Address) (uint64, error) {
	var v hexutil.Uint64
	err := r.ask(ctx, &v, "eth_getTransactionCount", a, hexutil.Uint64(r.at))
	return uint64(v), err
}

func (r *overRPC) Code(ctx context.Context, a common.Address) ([]byte, error) {
	var v hexutil.Bytes
	err := r.ask(ctx, &v, "eth_getCode", a, hexutil.Uint64(r.at))
	return v, err
}

func (r *overRPC) Storage(ctx context.Context, a common.Address, slot common.Hash) (common.Hash, error) {
	var v common.Hash
	err := r.ask(ctx, &v, "eth_getStorageAt", a, slot, hexutil.Uint64(r.at))
	return v, err
}

// Against a node without debug_* and trace_*, plain queries alone reproduce every
// mainnet recording: transaction and block come over the wire too.
func TestOverNode(t *testing.T) {
	for _, c := range gethdata.Cases(t, folders...) {
		if !c.Mainnet() {
			continue
		}
		n, err := gethdata.NewNode(c)
		if err != nil {
			t.Fatal(err)
		}
		n.Debug = false
		srv := httptest.NewServer(n)
		t.Cleanup(srv.Close)
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		rpc := &overRPC{url: srv.URL, at: c.Block.Number - 1}
		tx, blk, rc := fetch(t, rpc, c)
		res, err := Run(t.Context(), mainnet(t), blk, tx, nil, rpc, trace.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if notes := Verify(res, rc); len(notes) > 0 {
			t.Errorf("%s: %v", c.Name, notes)
		}
		e, err := c.BuildEvidence()
		if err != nil {
			t.Fatal(err)
		}
		sameTrace(t, c.Name, res.Tree, e.Trace, true)
		if asked := n.CallsTo("eth_getBalance") + n.CallsTo("eth_getTransactionCount") +
			n.CallsTo("eth_getCode") + n.CallsTo("eth_getStorageAt"); asked != res.Reads || res.Tree.Source != trace.SourceReplay {
			t.Errorf("%s: node asked %d times, %d reads, source %s", c.Name, asked, res.Reads, res.Tree.Source)
		}
	}
}

// fetch reads the transaction, its block and its receipt.
func fetch(t *testing.T, rpc *overRPC, c *gethdata.Case) (*ethrpc.Transaction, *ethrpc.Block, *ethrpc.Receipt) {
	t.Helper()
	get := func(method string, params ...any) []byte {
		var raw json.RawMessage
		if err := rpc.ask(t.Context(), &raw, method, params...); err != nil {
			t.Fatal(err)
		}
		return raw
	}
	tx, err := ethrpc.ParseTransaction(get("eth_getTransactionByHash", c.Hash()))
	if err != nil {
		t.Fatal(err)
	}
	blk, err := ethrpc.ParseBlock(get("eth_getBlockByNumber", hexutil.Uint64(c.Block.Number), false))
	if err != nil {
		t.Fatal(err)
	}
	rc, err := ethrpc.ParseReceipt(get("eth_getTransactionReceipt", c.Hash()))
	if err != nil {
		t.Fatal(err)
	}
	return tx, blk, rc
}
