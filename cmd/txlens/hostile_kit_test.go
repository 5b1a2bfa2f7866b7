package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/report"
	"txlens/internal/testkit/stubnode"

	"github.com/go-json-experiment/json"
)

type object = map[string]any

// The invented transaction of the hostile scenes.
const (
	sceneHash   = "0x5ce7e00000000000000000000000000000000000000000000000000000000001"
	sceneBlock  = "0xb10c000000000000000000000000000000000000000000000000000000000001"
	sceneSender = "0x5e00000000000000000000000000000000000001"
	sceneTarget = "0x7a00000000000000000000000000000000000002"
	sceneToken  = "0x70000000000000000000000000000000000000f3"
	sceneOther  = "0x0700000000000000000000000000000000000004"

	transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
)

// scene is one invented transaction, told by a node and by services that may say
// anything. It starts as a plain call that went well.
type scene struct {
	node    *stubnode.Node
	sources *stubnode.Sources
	flags   settings.Evidence
	sent    atomic.Int64 // bytes that node and services sent

	tx, receipt, block object
	trace              any                            // root frame; nil: no tracer
	call               func(to, data string) []byte   // eth_call; nil: nothing is returned
	slot               func(address, _ string) string // eth_getStorageAt
	code               string                         // of every account
	chain              uint64
	atMost             time.Duration // of the processors, for one analysis with all its outputs
	heap               int64         // growth allowed; 0: six times what was sent and a constant
}

// heapFloor is what an analysis may take whatever it reads: decoders' buffers, the
// embedded tables when they are opened first, and what the collector has not met.
const heapFloor = 128 << 20

func newScene(t testing.TB) *scene {
	t.Helper()
	s := &scene{sources: stubnode.NewSources(), code: "0x", chain: 1, atMost: 5 * time.Second}
	s.tx = object{"hash": sceneHash, "type": "0x2", "chainId": "0x1", "nonce": "0x1", "from": sceneSender, "to": sceneTarget, "value": "0x0",
		"input": "0x", "gas": "0x1c9c380", "gasPrice": "0x77359400", "blockHash": sceneBlock, "blockNumber": "0x1312d00", "transactionIndex": "0x0"}
	s.receipt = object{"transactionHash": sceneHash, "blockHash": sceneBlock, "blockNumber": "0x1312d00", "status": "0x1", "gasUsed": "0x30d40",
		"cumulativeGasUsed": "0x30d40", "effectiveGasPrice": "0x77359400", "type": "0x2", "logs": []any{}}
	s.block = object{"number": "0x1312d00", "hash": sceneBlock, "parentHash": sceneHash, "timestamp": "0x665ba27f", "gasLimit": "0x1c9c380",
		"gasUsed": "0x30d40", "baseFeePerGas": "0x3b9aca00", "miner": "0x3100000000000000000000000000000000000005", "transactions": []any{sceneHash}}
	s.trace = frame("CALL", sceneSender, sceneTarget, nil)
	s.node = stubnode.New(nil, stubnode.Options{ChainID: s.chain})
	s.answer()
	s.flags = settings.Evidence{RPC: []string{"1=" + s.serve(t, s.node)}, RPCOnly: true, Sources: "on", Deadline: 60 * time.Second}
	url := s.serve(t, s.sources)
	s.flags.SourcifyURL, s.flags.FourByteURL, s.flags.BlockscoutURL, s.flags.LlamaURL = url, url, url, url
	return s
}

// frame is one call of a trace.
func frame(kind, from, to string, calls []any) object {
	f := object{"type": kind, "from": from, "to": to, "gas": "0x1c9c380", "gasUsed": "0x30d40", "input": "0x", "output": "0x", "value": "0x0"}
	if calls != nil {
		f["calls"] = calls
	}
	return f
}

// transferLog is an ERC-20 Transfer.
func transferLog(i int, token, from, to string) object {
	pad := func(a string) string { return "0x" + strings.Repeat("0", 24) + a[2:] }
	return object{"address": token, "topics": []string{transferTopic, pad(from), pad(to)}, "data": fmt.Sprintf("0x%064x", 1_000_000+i), "logIndex": fmt.Sprintf("0x%x", i)}
}

// address makes the i-th of many.
func address(i int) string { return fmt.Sprintf("0xaa%038x", i) }

// serve counts what a handler sends.
func (s *scene) serve(t testing.TB, h http.Handler) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(countingWriter{w, &s.sent}, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

type countingWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w countingWriter) Write(b []byte) (int, error) {
	w.n.Add(int64(len(b)))
	return w.ResponseWriter.Write(b)
}

func (w countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answer lets the node tell what the scene holds at the time of the question.
func (s *scene) answer() {
	told := func(v *object) stubnode.Handler {
		return func([]stdjson.RawMessage) (stdjson.RawMessage, error) { return stdjson.Marshal(*v) }
	}
	s.node.Handle("eth_getTransactionByHash", told(&s.tx))
	s.node.Handle("eth_getTransactionReceipt", told(&s.receipt))
	s.node.Handle("eth_getBlockByNumber", told(&s.block))
	s.node.Handle("debug_traceTransaction", func(params []stdjson.RawMessage) (stdjson.RawMessage, error) {
		if s.trace == nil || bytes.Contains(params[1], []byte("prestate")) {
			return nil, stubnode.ErrMethodNotFound
		}
		return stdjson.Marshal(s.trace)
	})
	s.node.Handle("eth_call", func(params []stdjson.RawMessage) (stdjson.RawMessage, error) {
		var c struct{ To, Data string }
		if err := stdjson.Unmarshal(params[0], &c); err != nil {
			return nil, err
		}
		if s.call == nil {
			return stdjson.RawMessage(`"0x"`), nil
		}
		return stdjson.Marshal(fmt.Sprintf("0x%x", s.call(c.To, c.Data)))
	})
	s.node.Handle("eth_getCode", func([]stdjson.RawMessage) (stdjson.RawMessage, error) { return stdjson.Marshal(s.code) })
	s.node.Handle("eth_getStorageAt", func(params []stdjson.RawMessage) (stdjson.RawMessage, error) {
		if s.slot == nil {
			return stdjson.RawMessage(`"0x0"`), nil
		}
		var a, slot string
		stdjson.Unmarshal(params[0], &a)
		stdjson.Unmarshal(params[1], &slot)
		return stdjson.Marshal(s.slot(a, slot))
	})
}

// streams lets write tell the call trace.
func (s *scene) streams(write func(io.Writer)) {
	s.node.Stream("debug_traceTransaction", func(params []stdjson.RawMessage) func(io.Writer) {
		if bytes.Contains(params[1], []byte("prestate")) {
			return nil
		}
		return write
	})
}

// outputs are all that an analysis ends in.
type outputs struct {
	res        *api.Result
	size       int64  // of the JSON
	json       []byte // its beginning, whole up to wholeJSON
	text, html []byte
}

// wholeJSON is the size up to which JSON is kept for a look at it.
const wholeJSON = 8 << 20

// Write takes the JSON as the command line streams it.
func (o *outputs) Write(b []byte) (int, error) {
	if o.size += int64(len(b)); o.size <= wholeJSON {
		o.json = append(o.json, b...)
	}
	return len(b), nil
}

// explain runs the whole pipeline and checks what must hold whatever was fed.
func (s *scene) explain(t testing.TB) outputs {
	t.Helper()
	_, url, _ := strings.Cut(s.flags.RPC[0], "=")
	s.flags.RPC[0] = fmt.Sprintf("%d=%s", s.chain, url)
	a := testAnalyst(t, s.flags)
	runtime.GC()
	stop, start := watchHeap(), processorTime()
	res, err := local{a}.Explain(context.Background(), api.Request{TxHash: sceneHash, ChainID: s.chain}, nil)
	if err != nil {
		t.Fatalf("no result: %v", err)
	}
	out := outputs{res: res}
	if err := json.MarshalWrite(&out, res); err != nil {
		t.Fatal(err)
	}
	var text, page bytes.Buffer
	if err := report.Text(&text, res, report.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := report.HTML(&page, res); err != nil {
		t.Fatal(err)
	}
	out.text, out.html = text.Bytes(), page.Bytes()
	took, grew := processorTime()-start, int64(stop())
	limit := s.heap
	if limit == 0 {
		limit = 6*s.sent.Load() + heapFloor
	}
	t.Logf("%d KiB in; %s of the processors, heap +%d MiB (at most %d); JSON %d KiB, text %d KiB, HTML %d KiB", s.sent.Load()>>10, took.Round(time.Millisecond), grew>>20, limit>>20,
		out.size>>10, len(out.text)>>10, len(out.html)>>10)
	if raceEnabled {
		took /= 16 // the detector works, too
	} else if grew > limit {
		t.Errorf("the heap grew by %d MiB, at most %d are allowed", grew>>20, limit>>20)
	}
	if took > s.atMost {
		t.Errorf("took %s of the processors, at most %s are allowed", took, s.atMost)
	}
	out.check(t)
	return out
}

var (
	tags        = regexp.MustCompile(`<[^>]*>`)
	active      = regexp.MustCompile(`(?i)^</?(script|iframe|img|object|embed|base|form|link)\b|\son[a-z]+\s*=|javascript:`)
	diagramLine = regexp.MustCompile(`^(sequenceDiagram|    participant P\d+ as [^\n;"<>{}$\\%:]*(?:#\d+;[^\n;"<>{}$\\%:]*)*|    (P\d+-{1,2}(>>|x|\))P\d+|Note over P\d+(,P\d+)?): .*)$`)
)

// withoutOwnScripts removes the data of the call list, which must be JSON, and the script that
// the policy of the page names by its hash.
func withoutOwnScripts(t testing.TB, page []byte) []byte {
	t.Helper()
	if before, rest, ok := bytes.Cut(page, []byte(`<script type="application/json" id="frames">`)); ok {
		data, after, _ := bytes.Cut(rest, []byte("</script>"))
		if !stdjson.Valid(data) || bytes.ContainsAny(data, "<>&") {
			t.Errorf("the data of the call list: %.200q", data)
		}
		noControls(t, "the data of the call list", data)
		page = slices.Concat(before, after)
	}
	before, rest, _ := bytes.Cut(page, []byte("<script>"))
	script, after, _ := bytes.Cut(rest, []byte("</script>"))
	sum := sha256.Sum256(script)
	allowed := "script-src 'sha256-" + strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;") + "';"
	if !bytes.Contains(before, []byte(allowed)) {
		t.Errorf("the policy of the page does not allow its script by %s", allowed)
	}
	return slices.Concat(before, after)
}

// check holds the outputs against what every consumer relies on.
func (o outputs) check(t testing.TB) {
	t.Helper()
	if o.size <= wholeJSON && !stdjson.Valid(o.json) {
		t.Error("the JSON is not valid")
	}
	noControls(t, "JSON", o.json)
	noControls(t, "text", o.text)
	page := withoutOwnScripts(t, o.html)
	noControls(t, "HTML", page)
	for _, tag := range tags.FindAll(page, -1) {
		if active.Match(tag) {
			t.Errorf("the HTML report is active: %.200q", tag)
		}
	}
	if len(o.html) > 2<<20 || len(o.text) > 2<<20 {
		t.Errorf("reports of %d KiB HTML and %d KiB text", len(o.html)>>10, len(o.text)>>10)
	}
	r := o.res
	for _, line := range append(append(append([]string{r.Summary}, r.Steps...), r.Risks...), r.Provenance.Notes...) {
		if strings.ContainsAny(line, "\n\r<>`") || strings.Contains(line, "](") || len(line) > 4000 {
			t.Errorf("not a plain line: %.300q", line)
		}
		noControls(t, "a sentence", []byte(line))
	}
	for _, line := range strings.Split(strings.TrimSuffix(r.MermaidDiagram, "\n"), "\n") {
		if r.MermaidDiagram != "" && !diagramLine.MatchString(line) {
			t.Errorf("no line of a diagram: %.300q", line)
		}
	}
}

// noControls allows line ends and nothing else that moves a cursor or turns text.
func noControls(t testing.TB, what string, b []byte) {
	t.Helper()
	for i, r := range string(b) {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
			t.Errorf("%s has the character %U at %d: %q", what, r, i, b[max(0, i-40):min(len(b), i+40)])
			return
		}
	}
}
