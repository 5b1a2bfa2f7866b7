package decode

import (
	"bytes"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/go-json-experiment/json/jsontext"
)

// load reads one recorded transaction as the engine does.
func load(tb testing.TB, tx fixture.Tx) (*trace.Tree, *ethrpc.Receipt) {
	tb.Helper()
	tree, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(tx.Trace)), trace.Limits{})
	if err != nil {
		tb.Fatalf("%s: %v", tx.Hash, err)
	}
	rc, err := ethrpc.ParseReceipt(tx.Receipt)
	if err != nil {
		tb.Fatalf("%s: %v", tx.Hash, err)
	}
	tree.JoinLogs(rc)
	return tree, rc
}
