package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/settle"
	"txlens/internal/durable"
)

// operation is something that a payer does, and what was there before.
type operation struct {
	name    string
	prepare func(x *payer)
	act     func(ctx context.Context, x *payer) error
	// answered: it may succeed though the chain does not answer any more.
	answered bool
}

func bought(x *payer) {
	x.r.honest()
	must(x.Explain(context.Background(), request, nil))
}

func closing(x *payer) {
	bought(x)
	must(x.RequestClose(context.Background()))
	x.r.chain.IncreaseTime(16 * time.Minute)
}

// pending leaves a top-up whose answer was lost.
func pending(x *payer) {
	bought(x)
	x.store.edit(x.store.book.Channels[0].ID, func(r *row) { r.Pending = usd(1) })
}

var operations = []operation{
	{"open", func(x *payer) { x.r.honest() }, func(ctx context.Context, x *payer) error { return second(x.Open(ctx)) }, false},
	{"explain", func(x *payer) { x.r.honest() }, func(ctx context.Context, x *payer) error { return second(x.Explain(ctx, request, nil)) }, false},
	{"explain after a lost top-up", pending, func(ctx context.Context, x *payer) error { return second(x.Explain(ctx, request, nil)) }, false},
	{"top up", bought, func(ctx context.Context, x *payer) error { return second(x.TopUp(ctx, usd(2))) }, false},
	{"top up after a lost one", pending, func(ctx context.Context, x *payer) error { return second(x.TopUp(ctx, usd(2))) }, false},
	{"refresh", bought, func(ctx context.Context, x *payer) error { return second(x.Refresh(ctx)) }, false},
	{"refresh after a lost top-up", pending, func(ctx context.Context, x *payer) error { return second(x.Refresh(ctx)) }, false},
	{"request close", bought, func(ctx context.Context, x *payer) error { return second(x.RequestClose(ctx)) }, false},
	{"withdraw", closing, func(ctx context.Context, x *payer) error { return second(x.Withdraw(ctx)) }, false},
	{"close", bought, func(ctx context.Context, x *payer) error { return second(x.CloseChannel(ctx)) }, true},
}

func second[T any](_ T, err error) error { return err }

// TestChainFails: an operation fails whichever of its calls the chain does not answer
// from then on, with the error of the chain, and no channel is forgotten.
func TestChainFails(t *testing.T) {
	for _, op := range operations {
		if op.answered {
			continue
		}
		for n, calls := 0, 1; n < calls; n++ {
			virtual(t, func(r *rogue) {
				x := r.payer()
				op.prepare(x)
				x.chain.asked = false
				rows := len(x.store.book.Channels)
				x.node.calls = 0
				if n == 0 { // how many calls there are
					if err := op.act(r.t.Context(), x); err != nil {
						t.Fatalf("%s: %v", op.name, err)
					}
					calls = x.node.calls + 1
					return
				}
				x.node.broken = func(at int) bool { return at >= n-1 }
				err := op.act(r.t.Context(), x)
				if !errors.Is(err, settle.ErrUnreachable) && !has(err, nil, "receipt") && !has(err, nil, "unknown") || len(x.Channels()) < rows {
					t.Errorf("%s without call %d of %d: %v, %d channels", op.name, n, calls-1, err, len(x.Channels()))
				}
			})
		}
	}
}

// TestWritesFail: an operation fails with the error of the first write that fails, and
// the book in memory is the one on disk.
func TestWritesFail(t *testing.T) {
	full := errors.New("no space left on device")
	for _, op := range operations {
		for n, writes := 0, 1; n < writes; n++ {
			virtual(t, func(r *rogue) {
				x := r.payer()
				op.prepare(x)
				at := 0
				x.store.write = func(path string, doc []byte) error {
					if at++; n > 0 && at >= n {
						return full
					}
					return durable.ReplaceFile(path, doc)
				}
				err := op.act(r.t.Context(), x)
				if n == 0 {
					if writes = at + 1; err != nil {
						t.Fatalf("%s: %v", op.name, err)
					}
					return
				}
				disk, _ := Channels(r.dir)
				if !errors.Is(err, full) || fmt.Sprint(disk) != fmt.Sprint(append([]Channel(nil), x.Channels()...)) {
					t.Errorf("%s without write %d of %d: %v; on disk %v, in memory %v", op.name, n, writes-1, err, disk, x.Channels())
				}
			})
		}
	}
}

// TestServerRefuses: an operation fails with the answer of the server, whichever of its
// requests is refused, and with the network's error where none is answered.
func TestServerRefuses(t *testing.T) {
	for _, op := range operations {
		if strings.Contains(op.name, "refresh") || op.name == "request close" || op.name == "withdraw" {
			continue
		}
		for n, requests := 0, 1; n < requests; n++ {
			for _, refused := range []bool{true, false} {
				virtual(t, func(r *rogue) {
					x := r.payer()
					op.prepare(x)
					x.web.calls = 0
					inner := x.web.h
					if n > 0 && !refused {
						x.web.broken = func(at int) bool { return at >= n-1 }
					}
					at := 0
					x.web.h = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
						if at++; n > 0 && refused && at >= n {
							http.Error(w, "{\"error\":\"away\\u0007\",\"code\":\"teapot\"}", http.StatusTeapot)
							return
						}
						inner.ServeHTTP(w, req)
					})
					err := op.act(r.t.Context(), x)
					var status *StatusError
					switch {
					case n == 0 && err == nil:
						requests = x.web.calls + 1
					case n == 0:
						t.Fatalf("%s: %v", op.name, err)
					case refused && (!errors.As(err, &status) || status.Status != http.StatusTeapot || status.Code != "teapot" || !strings.HasPrefix(status.Message, "away")):
						t.Errorf("%s, request %d refused: %v", op.name, n, err)
					case !refused && !errors.Is(err, errNetwork):
						t.Errorf("%s, request %d lost: %v", op.name, n, err)
					}
				})
			}
		}
	}
}

// TestTurn: who waits for a turn gives up with the context.
func TestTurn(t *testing.T) {
	r := newDirect(t)
	x := r.payer()
	<-x.turn
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for _, op := range operations {
		if err := op.act(ctx, x); !errors.Is(err, gone) {
			t.Errorf("%s: %v", op.name, err)
		}
	}
	const id = "0199d5f0-0000-7000-8000-000000000001"
	for _, err := range []error{second(x.Job(ctx, id, 0, nil)), second(x.ExplainJob(ctx, request, 0, nil)), second(x.Recover(ctx, id))} {
		if !errors.Is(err, gone) {
			t.Error(err)
		}
	}
	x.give()
	if len(r.payloads) != 0 || x.web.calls+x.node.calls != 0 {
		t.Error("something was asked for")
	}
}

// TestDefaults of a client and its chain.
func TestDefaults(t *testing.T) {
	r := newDirect(t)
	x := r.payer()
	if x.o.Timeout != 30*time.Minute || x.o.Silence != time.Minute || x.o.Limits.MaxDeposit != usd(3200) || x.o.Limits.MaxCharge != usd(3200) || x.account != r.key.Address() {
		t.Errorf("options %+v of %s", x.o, x.account)
	}
	if l := (Limits{MaxDeposit: usd(7)}).withDefaults(); l.MaxCharge != usd(7) || !l.TopUp.IsZero() {
		t.Errorf("limits %+v", l)
	}
	f := func(in Chain, id uint64, token common.Address, rpc string) {
		t.Helper()
		got := in.withDefaults()
		if got.ID != id || got.Token != token || strings.Join(got.RPC, " ") != rpc {
			t.Errorf("%+v", got)
		}
	}
	mine := common.Address{7}
	f(Chain{}, 4217, knownChains[4217].token, "https://rpc.tempo.xyz")
	f(Chain{ID: 42431}, 42431, knownChains[42431].token, "https://rpc.moderato.tempo.xyz")
	f(Chain{ID: 1, Token: mine}, 1, mine, "")
	f(Chain{Token: mine, RPC: []string{"a"}}, 4217, mine, "a")
	g := func(ch Chain, text string) {
		t.Helper()
		if _, err := ch.Balance(t.Context(), mine); !has(err, nil, text) {
			t.Errorf("%v", err)
		}
		if _, err := New(Options{Server: "https://a", Key: r.key, Dir: t.TempDir(), Chain: ch}); !has(err, nil, text) {
			t.Errorf("%v", err)
		}
	}
	g(Chain{ID: 1, RPC: []string{"http://a"}}, "name the token")
	g(Chain{ID: 1, Token: mine}, "name an endpoint")
	g(Chain{RPC: []string{"ftp://a"}}, "no http or https URL")
}

// TestBookChecks: a file that cannot be right is refused.
func TestBookChecks(t *testing.T) {
	r := newDirect(t)
	f := func(text string, change func(rw *row)) {
		t.Helper()
		rw := r.row(10, 5, 5)
		change(&rw)
		if err := rw.check(r.key.Address()); text == "" && err != nil || text != "" && !has(err, nil, text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	f("", func(*row) {})
	f("", func(rw *row) { rw.State = Closing })
	f("", func(rw *row) { rw.State, rw.OpenTx = Opening, []byte{1} })
	f("opening transaction", func(rw *row) { rw.State = Opening })
	f("state", func(rw *row) { rw.State = "x" })
	f("more is spent", func(rw *row) { rw.Spent = usd(6) })
	f("channel id", func(rw *row) { rw.ID[0]++ })
	f("payer", func(rw *row) {
		rw.Descriptor.Payer[0]++
		rw.ID = rw.ref().Descriptor.ID(rw.ChainID, rw.Escrow)
	})
	x := r.payer()
	path := x.store.path
	x.Close()
	g := func(text, doc string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(x.o); !has(err, nil, text) {
			t.Errorf("%v, want %q", err, text)
		}
		if now, _ := os.ReadFile(path); string(now) != doc {
			t.Error("the file was written over")
		}
	}
	account := r.key.Address().Hex()
	g("another server or account", `{"version":1,"server":"https://other","account":"`+account+`","channels":[]}`)
	g("another server or account", `{"version":1,"server":"http://127.0.0.1:1","account":"0x0000000000000000000000000000000000000001","channels":[]}`)
	g("too large", `{"version":1}`+strings.Repeat(" ", maxFile))
	g("version 2", `{"version":2,"server":"http://127.0.0.1:1","account":"`+account+`","channels":[]}`)
	g("read ", `[]`)
	g("unknown", `{"version":1,"more":1}`)
}

// TestSecrets: a file that cannot be read as a secret is an error, and the bound is exact.
func TestSecrets(t *testing.T) {
	if text, err := ReadSecret(keyFile(t, "12345", 0o600), 5); text != "12345" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	f := func(path string, text string) {
		t.Helper()
		if got, err := ReadSecret(path, 5); got != "" || !has(err, ErrKeyFile, text) {
			t.Errorf("%q, %v", got, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f(filepath.Join(dir, "none"), "no such file")
	f(dir, "directory")
	f(keyFile(t, "123456", 0o600), "longer than 5")
	f(keyFile(t, "1", 0o604), "0604")
	if _, err := NewKey(filepath.Join(dir, "none", "key")); !has(err, ErrKeyFile, "no such file") {
		t.Errorf("%v", err)
	}
}

// TestJobs: a job is polled at its pace until it has ended.
func TestJobs(t *testing.T) {
	const id = "0199d5f0-0000-7000-8000-000000000001"
	result := `{"jobId":"` + id + `","status":"complete","result":{"txHash":"` + hash + `"}}`
	waiting := `{"jobId":"` + id + `","status":"pending"}`
	f := func(every, want time.Duration, target string, answers ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newDirect(t)
			n := 0
			r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
				mined(r, must(cr.Payload()))
				if answers[n] == "503" {
					w.WriteHeader(503)
				} else {
					w.Header().Set("Payment-Receipt", r.receipt(cr).HeaderValue())
					w.Write([]byte(answers[n]))
				}
				n = min(n+1, len(answers)-1)
			}
			x := r.payer()
			began, told := time.Now(), 0
			a, err := x.Job(t.Context(), id, every, func(api.JobStatus) { told++ })
			took := time.Since(began)
			switch {
			case target == "" && (err != nil || a.JobID != id || (a.Result == nil) == (a.HTML == "") || a.Signed.IsZero() || a.Charged != usd(1) || took != want || told != len(answers)-1):
				t.Errorf("%+v, %v after %s, told %d", a, err, took, told)
			case target != "" && !has(err, nil, target):
				t.Errorf("%v", err)
			}
		})
	}
	f(0, 0, "", result)
	f(0, 10*time.Second, "", waiting, waiting, result)
	f(-1, 5*time.Second, "", waiting, result)
	f(time.Second, 2*time.Second, "", waiting, waiting, result)
	f(0, 0, "", `{"jobId":"`+id+`","status":"complete","html":"<p>"}`)
	f(0, 0, "no job", `{}`)
	f(0, 0, "no job", `[]`)
	f(0, 0, "read result", `{"jobId":"`+id+`","status":"complete","result":3}`)
	f(0, 0, "the analysis failed: no", `{"jobId":"`+id+`","status":"error","error":"no"}`)
	f(0, 0, "503", "503")
	f(0, 0, "took longer", waiting)
}

// TestAnswers: a stream and a record are read strictly.
func TestAnswers(t *testing.T) {
	f := func(kind api.EventType, doc, text string) {
		t.Helper()
		a, err := answerOf(kind, []byte(doc))
		if text == "" && (err != nil || a == nil) || text != "" && (a != nil || !has(err, ErrProtocol, text)) {
			t.Errorf("%s: %+v, %v", doc, a, err)
		}
	}
	f(api.EventReport, `{"html":"<p>"}`, "")
	f(api.EventReport, `{"html":3}`, "read report")
	f(api.EventResult, `{"txHash":"`+hash+`"}`, "")
	f(api.EventResult, `3`, "read result")
}
