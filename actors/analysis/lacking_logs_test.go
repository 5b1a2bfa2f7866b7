package analysis_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
)

// withoutLogs is the transaction as a node answers that leaves the logs out of its receipts but
// not out of their bloom filter; nil if there are none.
func (r *reported) withoutLogs(t *testing.T) *reported {
	t.Helper()
	rc, err := ethrpc.ParseReceipt(r.Receipt)
	if err != nil || len(rc.Logs) == 0 {
		return nil
	}
	var bloom types.Bloom
	for _, l := range rc.Logs {
		bloom.Add(l.Address[:])
		for _, topic := range l.Topics {
			bloom.Add(topic[:])
		}
	}
	var all map[string]any
	if err := json.Unmarshal(r.Receipt, &all); err != nil {
		t.Fatal(err)
	}
	all["logs"], all["logsBloom"] = []any{}, "0x"+common.Bytes2Hex(bloom[:])
	out := *r
	if out.Receipt, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	return &out
}

// otherLogs is a trace with another first topic in each log.
func otherLogs(t *testing.T, trace json.RawMessage) json.RawMessage {
	t.Helper()
	if trace == nil {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, trace); err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(firstTopic.ReplaceAllString(compact.String(), `"topics":["0x`+strings.Repeat("ab", 32)+`"`))
}

var firstTopic = regexp.MustCompile(`"topics":\["[^"]*"`)

// TestReceiptsWithoutLogs: where every node leaves logs out of the receipt, those of the trace
// take their place if they are the ones that its bloom filter announces; else the result says
// so and has a low confidence.
func TestReceiptsWithoutLogs(t *testing.T) {
	names, all := reportedIn(t, "twins")
	completed, doubted, byCalls := 0, 0, 0
	for _, name := range names {
		bare := all[name].withoutLogs(t)
		if bare == nil {
			continue
		}
		want, got := all[name].explain(t), bare.explain(t)
		notes := strings.Join(got.Provenance.Notes, "\n")
		if strings.Contains(notes, "those of the call trace are used") {
			completed++
			if told(got) != told(want) || got.Confidence != want.Confidence {
				t.Errorf("%s\ngot  %s %s\nwant %s %s", name, got.Confidence, told(got), want.Confidence, told(want))
			}
		} else {
			doubted++
			if got.Confidence != api.Low || !strings.Contains(notes, "the receipt lacks logs") {
				t.Errorf("%s: confidence %s, notes %s", name, got.Confidence, notes)
			}
		}
		// Neither no trace nor one with other logs completes the receipt.
		for _, trace := range []json.RawMessage{nil, otherLogs(t, bare.Trace)} {
			other := *bare
			other.Trace, other.Parity = trace, nil
			if res := other.explain(t); res.Confidence != api.Low {
				t.Errorf("%s: confidence %s without a trace that has the logs", name, res.Confidence)
			} else if res.Summary == want.Summary && trace != nil {
				byCalls++
			}
		}
	}
	if completed < 10 || doubted == 0 || byCalls < 10 {
		t.Errorf("%d receipts were completed, %d were not; %d of these are told alike by the calls", completed, doubted, byCalls)
	}
}
