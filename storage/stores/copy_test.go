package stores_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
	"txlens/storage/stores"
	"txlens/testkit/size"
)

// now is the time of all stores of these tests.
var now = time.UnixMilli(1_790_000_000_000)

// filler makes random rows.
type filler struct{ *rand.Rand }

func (f filler) hash() (h common.Hash) {
	for i := 0; i < len(h); i += 8 {
		binary.BigEndian.PutUint64(h[i:], f.Uint64())
	}
	return h
}

func (f filler) address() common.Address { return common.Address(f.hash().Bytes()[:20]) }

func (f filler) amount(most tempo.Amount) tempo.Amount {
	n, _ := most.Uint64()
	return tempo.AmountFrom(f.Uint64N(n + 1))
}

// id is an id whose age is less than so long.
func (f filler) id(age time.Duration) string {
	var u uuid.UUID
	at := now.Add(-time.Duration(f.Int64N(int64(age))))
	binary.BigEndian.PutUint64(u[8:], f.Uint64())
	binary.BigEndian.PutUint64(u[:8], uint64(at.UnixMilli())<<16|f.Uint64()&0xffff)
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return u.String()
}

func (f filler) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "{}[],:0123456789abcdef"[f.IntN(22)]
	}
	return b
}

func (f filler) channel() *session.Channel {
	deposit := tempo.AmountFrom(f.Uint64N(1 << 40))
	c := &session.Channel{
		ID: f.hash(), ChainID: f.Uint64(), Escrow: f.address(), Status: session.Status(1 + f.IntN(4)),
		Deposit: deposit, Settled: f.amount(deposit), Settling: f.amount(deposit), Authorised: f.amount(deposit), Spent: f.amount(deposit),
		Capture: f.amount(deposit), Lost: f.amount(deposit), Units: f.Uint64N(1000), OpenTx: f.hash(), CloseTx: f.hash(),
		CloseRequestedAt: f.Int64N(
			1 << 40,
		), SeenAt: f.Int64N(1 << 40), CreatedAt: f.Int64N(1 << 40), ActiveAt: f.Int64N(1 << 40), OwedSince: f.Int64N(1 << 40),
		Highest: session.Voucher{Cumulative: deposit},
	}
	c.Credit, c.Settleable = f.amount(c.Spent), session.Voucher{Cumulative: f.amount(deposit)}
	c.Descriptor = tempo.Descriptor{
		Payer: f.address(), Payee: f.address(), Operator: f.address(), Token: f.address(), AuthorizedSigner: f.address(), Salt: f.hash(), ExpiringNonceHash: f.hash(),
	}
	return c
}

// fill writes n channels with bills and tickets, and n/10 runs and jobs.
func fill(t testing.TB, s stores.Store, seed uint64, n int) {
	t.Helper()
	f := filler{rand.New(rand.NewPCG(seed, 1))}
	no := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for left := n; left > 0; left -= 1000 {
		var entries []channel.Entry
		for range min(left, 1000) {
			c := f.channel()
			price := tempo.AmountFrom(f.Uint64N(1 << 30))
			b := &channel.Bill{
				ID:        f.id(api.RunRetention),
				Payer:     c.Descriptor.Payer,
				Channel:   c.ID,
				Collected: f.amount(price),
				Price:     price,
				Final:     f.IntN(2) == 0,
			}
			ticket := &channel.Ticket{Key: channel.TicketKey(f.hash()), Bill: b.ID, Charged: f.amount(price)}
			entries = append(entries, channel.Entry{Channel: c, Bill: b, Ticket: ticket})
		}
		no(s.Commit(entries...))
	}
	for range 3 {
		no(s.Commit(channel.Entry{Intent: &channel.Intent{
			ID: f.id(
				time.Hour,
			), Kind: channel.IntentClose, Channels: []common.Hash{f.hash()}, Amounts: []tempo.Amount{tempo.AmountFrom(f.Uint64())},
			Raw: f.bytes(300), Hash: f.hash(), ValidBefore: f.Int64N(1 << 40),
		}}))
	}
	_, err := s.Secret("challenges", f.bytes(32))
	no(err)
	for left := n / 10; left > 0; left -= 50 {
		done := make(chan error, 50)
		for range cap(done) {
			row := job.RunRow{
				ID:         f.id(api.RunRetention),
				Class:      job.RunClass(f.IntN(3)),
				State:      job.RunReplayable,
				FinishedAt: f.Int64N(1 << 40),
				Frames:     f.bytes(2 + f.IntN(3000)),
			}
			if f.IntN(5) == 0 {
				row.State, row.Frames = job.RunErrored, nil
			}
			go func() { done <- s.Runs.PutRun(row) }()
		}
		var rows []job.Row
		for range cap(done) {
			row := job.Row{
				ID:       f.id(api.JobRetention),
				Status:   api.JobPending,
				Attempts: f.IntN(3),
				Request:  api.Request{TxHash: f.hash().Hex(), Context: "why? \u00e9"},
			}
			switch f.IntN(3) {
			case 0:
				row.Status, row.Result, row.HTML = api.JobComplete, f.bytes(1+f.IntN(5000)), f.bytes(f.IntN(5000))
			case 1:
				row.Status, row.Error, row.ErrorCode = api.JobError, "no such transaction", api.CodeNotFound
			}
			rows = append(rows, row)
		}
		no(s.Jobs.PutJobs(rows...))
		for range cap(done) {
			no(<-done)
		}
	}
}

func openForCopy(t testing.TB, at stores.Location) stores.Store {
	t.Helper()
	o := stores.CopyOptions(now)
	o.LeaseWait = 10 * time.Second
	s, err := stores.Open(t.Context(), at, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkFilled fails unless each part has the rows that fill wrote.
func checkFilled(t *testing.T, sums []stores.Sum, n int) {
	t.Helper()
	want := map[string]int{
		"secrets":      1,
		"bills":        n,
		"tickets":      n,
		"transactions": 3,
		"runs":         (n/10 + 49) / 50 * 50,
		"jobs":         (n/10 + 49) / 50 * 50,
	}
	channels := 0
	for _, s := range sums {
		if strings.HasSuffix(s.Part, "channels") {
			channels += s.Rows
			continue
		}
		if s.Rows != want[s.Part] {
			t.Errorf("%d %s, want %d", s.Rows, s.Part, want[s.Part])
		}
	}
	if channels != n {
		t.Errorf("%d channels, want %d", channels, n)
	}
}

// TestCopyFile: a copy of a file into another that is interrupted after any of its batches, or
// at the small size after each fourth, has the same rows in the end, writes no batch twice, and can be opened then.
func TestCopyFile(t *testing.T) {
	const channels = 1100
	from := stores.Location{Dir: t.TempDir()}
	s := openForCopy(t, from)
	defer s.Close()
	fill(t, s, 1, channels)
	want, err := stores.Sums(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	checkFilled(t, want, channels)
	all := 0
	for at := 0; at == 0 || at < all; at += size.Of(4, 1) {
		to := openForCopy(t, stores.Location{Dir: t.TempDir()})
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		count := func(string, int) {
			if calls++; at > 0 && calls == at {
				cancel()
			}
		}
		_, first := stores.Copy(ctx, s, to, count)
		state, err := to.Copying.CopyState()
		switch {
		case err != nil:
			t.Fatal(err)
		case at == 0:
			all = calls
		case !errors.Is(first, context.Canceled) || state == "":
			t.Errorf("interrupted after %d batches: %v, state %q", at, first, state)
		default:
			if _, first = stores.Copy(t.Context(), s, to, count); calls != all {
				t.Errorf("interrupted after %d batches: %d in all, want %d", at, calls, all)
			}
		}
		got, bad := stores.Sums(t.Context(), to)
		if state, _ = to.Copying.CopyState(); first != nil && at == 0 || bad != nil || !slices.Equal(got, want) || state != "" {
			t.Errorf("interrupted after %d batches: %v, %v, state %q", at, first, bad, state)
		}
		cancel()
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches", all)
}

// TestSumsSeeEachField: a change of any one row changes a checksum.
func TestSumsSeeEachField(t *testing.T) {
	at := stores.Location{Dir: t.TempDir()}
	s := openForCopy(t, at)
	defer s.Close()
	fill(t, s, 1, 10)
	f := filler{rand.New(rand.NewPCG(9, 9))}
	id := f.id(time.Minute)
	c := f.channel()
	last, err := stores.Sums(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	change := func(what string, err error) {
		t.Helper()
		sums, bad := stores.Sums(t.Context(), s)
		if err = errors.Join(err, bad); err != nil || slices.Equal(sums, last) {
			t.Errorf("%s: %v", what, err)
		}
		last = sums
	}
	change("a channel", s.Commit(channel.Entry{Channel: c}))
	d := *c
	d.Spent = tempo.AmountFrom(7)
	d.Credit = tempo.Amount{}
	change("a charge", s.Commit(channel.Entry{Channel: &d}))
	change("a bill", s.Commit(channel.Entry{Bill: &channel.Bill{ID: id, Price: tempo.AmountFrom(2)}}))
	change("a payment", s.Commit(channel.Entry{Bill: &channel.Bill{ID: id, Price: tempo.AmountFrom(2), Collected: tempo.AmountFrom(1)}}))
	change("a ticket", s.Commit(channel.Entry{Ticket: &channel.Ticket{Key: channel.TicketKey{1}, Bill: id}}))
	change("a transaction", s.Commit(channel.Entry{Intent: &channel.Intent{ID: id}}))
	change("a run", s.Runs.PutRun(job.RunRow{ID: id, State: job.RunReplayable, Frames: []byte("[1]")}))
	change("a frame", s.Runs.PutRun(job.RunRow{ID: id, State: job.RunReplayable, Frames: []byte("[2]")}))
	change("a job", s.Jobs.PutJobs(job.Row{ID: id, Status: api.JobComplete, Result: []byte("{}")}))
	change("a page", s.Jobs.PutJobs(job.Row{ID: id, Status: api.JobComplete, Result: []byte("{}"), HTML: []byte("<p>")}))
	_, err = s.Secret("other", []byte("0123456789abcdef"))
	change("a secret", err)
}

// TestCopyRefuses: nothing is copied into a store that contains something, and a source that
// changes during the copy is noticed.
func TestCopyRefuses(t *testing.T) {
	a, b, c := openForCopy(
		t,
		stores.Location{Dir: t.TempDir()},
	), openForCopy(
		t,
		stores.Location{Dir: t.TempDir()},
	), openForCopy(
		t,
		stores.Location{Dir: t.TempDir()},
	)
	defer func() {
		for _, s := range []stores.Store{a, b, c} {
			s.Close()
		}
	}()
	fill(t, a, 1, 20)
	fill(t, b, 2, 20)
	none := func(string, int) {}
	if _, err := stores.Copy(t.Context(), a, b, none); !errors.Is(err, stores.ErrNotEmpty) {
		t.Errorf("into a store with rows: %v", err)
	}
	if state, err := b.Copying.CopyState(); state != "" || err != nil {
		t.Errorf("%q, %v", state, err)
	}
	// A store that has another secret of the same name keeps it, even if a copy into it had begun.
	other := openForCopy(t, stores.Location{Dir: t.TempDir()})
	defer other.Close()
	if _, err := other.Secret("challenges", []byte("another secret of 32 bytes, or so")); err != nil {
		t.Fatal(err)
	}
	if err := other.Copying.SetCopyState("secrets/"); err != nil {
		t.Fatal(err)
	}
	if _, err := stores.Copy(t.Context(), a, other, none); !errors.Is(err, stores.ErrNotEmpty) {
		t.Errorf("over another secret: %v", err)
	}
	if err := other.Copying.SetCopyState("unheard of/7"); err != nil {
		t.Fatal(err)
	}
	if _, err := stores.Copy(t.Context(), a, other, none); !errors.Is(err, stores.ErrUnfinished) {
		t.Errorf("after a copy of another version: %v", err)
	}
	f := filler{rand.New(rand.NewPCG(3, 3))}
	changed := false
	_, err := stores.Copy(t.Context(), a, c, func(part string, _ int) {
		if part == "jobs" && !changed {
			changed = true
			if err := a.Commit(channel.Entry{Channel: f.channel()}); err != nil {
				t.Error(err)
			}
		}
	})
	if !errors.Is(err, stores.ErrChanged) {
		t.Errorf("of a store that changes: %v", err)
	}
	sums, err := stores.Copy(t.Context(), a, c, none)
	if want, _ := stores.Sums(t.Context(), a); err != nil || !slices.Equal(sums, want) {
		t.Errorf("the copy after it: %v, %v", fmt.Sprint(sums), err)
	}
}
