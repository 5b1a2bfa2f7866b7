package main

import (
	"bufio"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/internal/testkit/stubnode"
)

// TestRepeatedAfterACrash: a server is killed while a run streams whose vouchers have
// risen above the one that began it. The same request, with its own voucher or with
// another, goes on with that run, and all of it costs what its result does.
func TestRepeatedAfterACrash(t *testing.T) {
	bin := buildBinary(t)
	for name, again := range map[string]bool{"with its own voucher": true, "with the next voucher": false} {
		t.Run(name, func(t *testing.T) {
			w := newStubWorld(t)
			chain, rpc := newReserve(t, sandbox.Options{})
			args := slices.Concat([]string{"serve", "--listen", freeAddress(t), "--admin-listen", "off", "--data", t.TempDir(), "--call-price", "rpc=30000000"},
				sellsBy(t, rpc), rpcArgs(w.flags))
			serve := func() *serverProcess {
				s := launch(t, exec.Command(bin, args...))
				if !s.serves() {
					t.Fatalf("it does not serve: %s", s.log.String())
				}
				return s
			}
			w.node.SetFault("debug_traceTransaction", stubnode.Fault{Delay: time.Hour})
			s := serve()
			p := newPayer(t, s.base, w.tx.Hash, chain, new(atomic.Uint32))
			resp, ch, payload := p.buy("POST", pathStream, events, p.body(0))
			id := resp.Header.Get("X-Request-Id")
			if resp.StatusCode != http.StatusOK {
				_, text := read(t, resp)
				t.Fatalf("%d %s", resp.StatusCode, text)
			}
			p.untilPaid(resp, ch, 4*meter.Cent)
			s.kill()
			w.node.ClearFaults()

			s = serve()
			if again {
				resp = p.send("POST", pathStream, events, p.body(0), p.credential(ch, payload))
			} else {
				resp, ch, _ = p.buy("POST", pathStream, events, p.body(0))
			}
			if resp.StatusCode != http.StatusOK {
				_, text := read(t, resp)
				t.Fatalf("the request again: %d %s", resp.StatusCode, text)
			}
			last, rc, _ := p.stream(resp, ch, pathStream)
			if last["type"] != "result" || last["requestId"] != id || rc == nil {
				t.Fatalf("%v of run %v, want that of %s; receipt %+v", last["type"], last["requestId"], id, rc)
			}
			p.close(price(t, last))
			s.kill()
		})
	}
}

// untilPaid signs what a stream asks for until so much is signed, and leaves it open.
func (p *payer) untilPaid(resp *http.Response, ch *mpp.Challenge, sum uint64) {
	p.t.Helper()
	event, lines := "", bufio.NewScanner(resp.Body)
	for p.paid < sum && lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || event != mpp.EventNeedVoucher {
			continue
		}
		event = ""
		need, err := mpp.DecodeNeedVoucher([]byte(data))
		if err != nil {
			p.t.Fatal(err)
		}
		p.answerNeed(need, ch, pathStream)
	}
	if p.paid < sum {
		p.t.Fatalf("the stream ended with %d of %d signed: %v", p.paid, sum, lines.Err())
	}
}
