package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"txlens/engine/api"
	"txlens/engine/mpp"
)

// TestSettled: the chain decides what the file leaves open, within the time of the
// transaction.
func TestSettled(t *testing.T) {
	f := func(what string, onChain bool, change func(r *row), want ChannelState, there bool, waited time.Duration) {
		t.Helper()
		virtual(t, func(r *rogue) {
			x := r.payer()
			bought(x)
			rw := x.store.book.Channels[0]
			if !onChain {
				rw = r.row(1600, 1, 1)
			}
			change(&rw)
			x.store.book.Channels = []row{rw}
			began := time.Now()
			got, ok, err := x.settled(r.t.Context(), rw.ID)
			if ok != there || ok && got.State != want || (err != nil) != (want == "error") || want == "error" && !errors.Is(err, ErrNoChannel) {
				t.Errorf("%s: %+v, %t, %v", what, got, ok, err)
			}
			if rows := len(x.store.book.Channels); rows != 1 && (there || err != nil) || rows != 0 && !there && err == nil {
				t.Errorf("%s: %d rows", what, rows)
			}
			if took := time.Since(began); took < waited || took > waited+2*time.Second {
				t.Errorf("%s: took %s of virtual time, want %s", what, took, waited)
			}
			if ok && onChain && (got.Deposit != usd(1600) || !got.Pending.IsZero() || got.OpenTx != nil || got.ValidBefore != 0) {
				t.Errorf("%s: %+v", what, got)
			}
		})
	}
	in := func(d time.Duration) int64 { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Unix() }
	f("open", true, func(*row) {}, Open, true, 0)
	f("opening that has landed", true, func(rw *row) { rw.State, rw.OpenTx = Opening, []byte{1} }, Open, true, 0)
	f("closing that has not landed", true, func(rw *row) { rw.State = Closing }, Open, true, 0)
	f("closed", false, func(rw *row) { rw.State = Closing }, "", false, 0)
	f("opening that is too late", false, func(rw *row) { rw.State, rw.OpenTx, rw.ValidBefore = Opening, []byte{1}, in(-time.Hour) }, "", false, 0)
	f("opening that can be sent", false, func(rw *row) { rw.State, rw.OpenTx, rw.ValidBefore = Opening, []byte{1}, in(time.Minute) }, Opening, true, 0)
	f("opening that is nearly too late", false, func(rw *row) { rw.State, rw.OpenTx, rw.ValidBefore = Opening, []byte{1}, in(6*time.Second) }, "", false, 10*time.Second)
	f("top-up that has not landed", true, func(rw *row) { rw.Pending, rw.ValidBefore = usd(5), in(10*time.Second) }, Open, true, 20*time.Second) // the chain makes a block every 10 s
	f("top-up that is too late", true, func(rw *row) { rw.Pending, rw.ValidBefore = usd(5), in(-time.Hour) }, Open, true, 0)
	f("top-up that has landed", true, func(rw *row) { rw.Deposit, rw.Pending, rw.ValidBefore = usd(1500), usd(100), in(time.Hour) }, Open, true, 0)
	f("top-up of no channel", false, func(rw *row) { rw.Pending, rw.ValidBefore = usd(5), in(-time.Hour) }, "error", false, 0)
}

// TestRefresh: the file learns what the chain says, and forgets what is gone.
func TestRefresh(t *testing.T) {
	virtual(t, func(r *rogue) {
		x := r.payer()
		bought(x)
		x.store.book.Channels[0].Deposit = usd(3)
		rows, err := x.Refresh(r.t.Context())
		if err != nil || len(rows) != 1 || rows[0].Deposit != usd(1600) || !rows[0].Withdrawable.IsZero() {
			t.Errorf("%+v, %v", rows, err)
		}
		must(x.RequestClose(r.t.Context()))
		x.store.book.Channels[0].State, x.store.book.Channels[0].WithdrawableAt = Open, 0
		rows, err = x.Refresh(r.t.Context())
		if err != nil || len(rows) != 1 || rows[0].State != Closing || rows[0].Withdrawable.Before(time.Now().Add(14*time.Minute)) {
			t.Errorf("%+v, %v", rows, err)
		}
		x.store.book.Channels = append(x.store.book.Channels, r.row(10, 1, 1))
		began := time.Now()
		rows, err = x.Refresh(r.t.Context())
		if err != nil || len(rows) != 1 || rows[0].Deposit != usd(1600) || time.Since(began) != 3*time.Second {
			t.Errorf("%+v, %v after %s", rows, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeoutCause(r.t.Context(), time.Second+time.Millisecond, errTimeout)
		defer cancel()
		x.store.book.Channels = append(x.store.book.Channels, r.row(10, 1, 1))
		if _, err := x.Refresh(ctx); !errors.Is(err, errTimeout) || len(x.Channels()) != 2 {
			t.Errorf("%v, %d channels", err, len(x.Channels()))
		}
	})
}

// TestForcedSums: what a forced close returns, books and tells.
func TestForcedSums(t *testing.T) {
	virtual(t, func(r *rogue) {
		x := r.payer()
		for _, err := range []error{second(x.RequestClose(r.t.Context())), second(x.Withdraw(r.t.Context())), second(x.CloseChannel(r.t.Context())), second(x.TopUp(r.t.Context(), usd(1)))} {
			if !errors.Is(err, ErrNoChannel) {
				t.Error(err)
			}
		}
		bought(x)
		x.moves = nil
		at := must(x.RequestClose(r.t.Context()))
		again := must(x.RequestClose(r.t.Context())) // asks nothing twice
		if ch := x.Channels()[0]; at != again || ch.State != Closing || !ch.Withdrawable.Equal(at) {
			t.Errorf("%s, %s, %+v", at, again, ch)
		}
		if _, err := x.TopUp(r.t.Context(), usd(1601)); !errors.As(err, new(*LimitError)) {
			t.Error(err)
		}
		r.chain.IncreaseTime(16 * time.Minute)
		before := x.Channels()[0]
		end := must(x.Withdraw(r.t.Context()))
		if end.Refunded != usd(1600) || !end.Captured.IsZero() || !end.Confirmed || end.TxHash == (Refund{}).TxHash || end.Channel != before || len(x.Channels()) != 0 {
			t.Errorf("%+v", end)
		}
		if !slices.Equal(x.said(), []string{"closed 16000000"}) {
			t.Errorf("told %q", x.said())
		}
	})
}

// TestClosed: a close returns what the chain says, or what receipts say where the
// chain does not show it.
func TestClosed(t *testing.T) {
	f := func(status int, err bool) {
		t.Helper()
		virtual(t, func(r *rogue) {
			x := r.payer()
			bought(x)
			x.moves = nil
			r.serve = func(w http.ResponseWriter, _ *http.Request, cr *mpp.Credential) { w.WriteHeader(status) }
			before := x.Channels()[0]
			end, cerr := x.CloseChannel(r.t.Context())
			if err {
				if !has(cerr, nil, "close the channel") || len(x.Channels()) != 1 || x.Channels()[0].State != Closing || len(x.moves) != 0 || end != (Refund{}) {
					t.Errorf("%d: %+v, %v, %+v", status, end, cerr, x.Channels())
				}
				return
			}
			if cerr != nil || end.Confirmed || end.Captured != usd(1) || end.Refunded != usd(1599) || end.Channel != before || len(x.Channels()) != 0 || !slices.Equal(x.said(), []string{"closed 15990000"}) {
				t.Errorf("%d: %+v, %v, told %q", status, end, cerr, x.said())
			}
			if cl, ok := r.moves[len(r.moves)-1].(*mpp.Close); !ok || cl.CumulativeAmount != usd(1) || cl.ChannelID != before.ID {
				t.Errorf("%d: sent %+v", status, r.moves)
			}
		})
	}
	f(200, false)
	f(204, false)
	f(299, false)
	f(300, true)
	f(400, true)
	f(410, true) // the chain still has it
}

// TestMoveAgain: a challenge that has expired is replaced once, and no other refusal.
func TestMoveAgain(t *testing.T) {
	f := func(kind mpp.ProblemType, refusals, sent int, ok bool) {
		t.Helper()
		virtual(t, func(r *rogue) {
			x := r.payer()
			bought(x)
			n := 0
			r.serve = func(w http.ResponseWriter, _ *http.Request, cr *mpp.Credential) {
				mined(r, must(cr.Payload()))
				if n++; n <= refusals {
					r.demand(w, kind)
					return
				}
				w.WriteHeader(299)
			}
			_, err := x.TopUp(r.t.Context(), usd(5))
			if (err == nil) != ok || n != sent || !ok && !has(err, nil, "top up: ") {
				t.Errorf("%s: %v, sent %d times", kind, err, n)
			}
			if rw := x.store.book.Channels[0]; ok && (rw.Deposit != usd(1605) || !rw.Pending.IsZero()) || !ok && (rw.Deposit != usd(1600) || rw.Pending != usd(5) || rw.ValidBefore == 0) {
				t.Errorf("%s: %+v", kind, rw)
			}
		})
	}
	f(mpp.PaymentExpired, 0, 1, true)
	f(mpp.PaymentExpired, 1, 2, true)
	f(mpp.InvalidChallenge, 1, 2, true)
	f(mpp.PaymentExpired, 2, 2, false)
	f(mpp.VerificationFailed, 1, 1, false)
	f(mpp.ChannelNotFound, 1, 1, false)
}

// TestSellsNothing: a server that asks for no money is no server to open a channel with.
func TestSellsNothing(t *testing.T) {
	f := func(status int, text string) {
		t.Helper()
		virtual(t, func(r *rogue) {
			x := r.payer()
			bought(x)
			x.web.h = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			for _, err := range []error{second(x.TopUp(r.t.Context(), usd(1))), second(x.CloseChannel(r.t.Context())), second(x.Open(r.t.Context()))} {
				if !has(err, nil, text) {
					t.Errorf("%d: %v", status, err)
				}
			}
		})
	}
	f(200, "sells nothing")
	f(299, "sells nothing")
	f(300, "answers 300")
	f(404, "answers 404")
	f(503, "answers 503")
	f(402, "no tempo session")
}

// TestStreamEnds: silence and a result end a stream, in virtual time.
func TestStreamEnds(t *testing.T) {
	virtual(t, func(r *rogue) {
		from, to := io.Pipe()
		w, stop := watch(r.t.Context(), from, time.Minute)
		defer stop()
		go func() {
			for range 3 {
				time.Sleep(50 * time.Second)
				to.Write([]byte("x"))
			}
			time.Sleep(30 * time.Second)
			to.Write(nil) // a read of nothing breaks no silence
		}()
		began, buf := time.Now(), make([]byte, 9)
		n := 0
		for {
			got, err := w.Read(buf)
			if n += got; err != nil {
				if !errors.Is(err, errSilent) {
					t.Error(err)
				}
				break
			}
		}
		if took := time.Since(began); n != 3 || took != 210*time.Second {
			t.Errorf("%d bytes, given up after %s", n, took)
		}
	})
}

// TestEventBounds: the bounds of events and of their names are exact.
func TestEventBounds(t *testing.T) {
	f := func(stream string, target error) {
		t.Helper()
		in := newEvents(strings.NewReader(stream))
		in.most = 10
		if _, err := in.next(); !errors.Is(err, target) {
			t.Errorf("%d bytes: %v, want %v", len(stream), err, target)
		}
	}
	f("event: "+strings.Repeat("x", maxLine)+"\ndata\n\n", nil)
	f("event: "+strings.Repeat("x", maxLine+1)+"\ndata\n\n", ErrProtocol)
	f("data: "+strings.Repeat("x", maxLine+3)+"\n\n", nil)
	f("data: "+strings.Repeat("x", maxLine+4)+"\n\n", errEventSize)
	f("", io.EOF)
	f("data: x", io.ErrUnexpectedEOF)
	f("data: x\n", io.ErrUnexpectedEOF)
	f(": x\n", io.EOF)
}

// TestRecords: a run is fetched where its record is whole.
func TestRecords(t *testing.T) {
	const id = "0199d5f0-0000-7000-8000-000000000001"
	f := func(status int, doc, text string) {
		t.Helper()
		virtual(t, func(r *rogue) {
			x := r.payer()
			bought(x)
			r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
				if req.Method != http.MethodGet {
					w.WriteHeader(204)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				io.WriteString(w, doc)
			}
			a, err := x.Recover(r.t.Context(), id)
			if text == "" && (err != nil || !a.Recovered || a.RequestID != id || a.Result == nil) || text != "" && (a != nil || !has(err, nil, text)) {
				t.Errorf("%d %s: %+v, %v", status, doc, a, err)
			}
		})
	}
	frame := strings.TrimPrefix((&rogue{t: t}).result(), "data: ")
	f(200, `{"requestId":"`+id+`","frames":[{"type":"step"},`+frame+`]}`, "")
	f(200, `{"requestId":"`+id+`","frames":[]}`, "cannot be read")
	f(200, `{"requestId":"x","frames":[`+frame+`]}`, "cannot be read")
	f(200, `[]`, "cannot be read")
	f(200, `{"requestId":"`+id+`","frames":[`+frame+`,{"type":"heartbeat"}]}`, "does not end with a result")
	f(200, `{"requestId":"`+id+`","frames":[{"type":"error","message":"no"}]}`, "the analysis failed: no")
	f(404, ``, "unknown or too old")
	f(409, `{"code":"`+api.CodeRunAtWork+`"}`, "still at work")
	f(409, `{"code":"other","error":"why"}`, "409: why")
	f(503, ``, "503")
	x := newDirect(t).payer()
	for _, err := range []error{second(x.Recover(t.Context(), "x")), second(x.Job(t.Context(), "../x", 0, nil))} {
		if !has(err, nil, "is a UUID") {
			t.Error(err)
		}
	}
}
