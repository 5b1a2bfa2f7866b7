package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// TestGuardedRows: without the lease, a process still does not overwrite a row that another one has
// written under the same lease or a later one, and nothing of its write is stored. Rows of earlier
// leases it replaces.
func TestGuardedRows(t *testing.T) {
	for _, bound := range []int64{0, 1 << 30} {
		testGuardedRows(t, Options{ExpireEvery: -1, MaxBytes: bound})
	}
}

func testGuardedRows(t *testing.T, o Options) {
	s := open(t, create(t), o)
	another := func(owner string, epoch int64) *Store { return &Store{owner: owner, epoch: epoch, options: o} }
	id := common.Hash{1}
	bill := channel.Bill{ID: recordid.New(), Channel: id}
	pending := job.Row{ID: recordid.New(), Status: api.JobPending}
	put := func(by *Store, spent uint64) map[string][]statement {
		row := &session.Channel{ID: id, Status: session.Active, Deposit: tempo.AmountFrom(9), Spent: tempo.AmountFrom(spent)}
		row.Highest.Cumulative = row.Spent
		bill.Collected = row.Spent
		charged, err := by.statementsOf(channel.Entry{Channel: row})
		billed, failed := by.statementsOf(channel.Entry{Bill: &bill})
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		return map[string][]statement{
			"channels": charged, "bills": append(slices.Clone(charged), billed...),
			"jobs": {by.jobStatement(job.Row{ID: pending.ID, Status: api.JobRunning, Attempts: int(spent)}, []byte("{}"), []byte{})},
		}
	}
	f := func(by *Store, spent uint64, want error) {
		t.Helper()
		for table, all := range put(by, spent) {
			if err := s.commit([]write{{statements: all}}); !errors.Is(err, want) {
				t.Errorf("%s by %q, epoch %d: %v, want %v", table, by.owner, by.epoch, err, want)
			}
		}
	}
	f(s, 1, nil)
	f(s, 2, nil)
	f(another("another", s.epoch), 3, ErrLeaseLost)
	f(another("another", s.epoch-1), 3, ErrLeaseLost)
	f(another(s.owner, s.epoch-1), 3, ErrLeaseLost)
	ch, err := s.Channel(id)
	b, failed := s.Bill(bill.ID)
	j, missing := s.Job(pending.ID)
	if err := errors.Join(err, failed, missing); err != nil {
		t.Fatal(err)
	}
	if two := tempo.AmountFrom(2); ch.Spent != two || b.Collected != two || j.Attempts != 2 {
		t.Errorf("spent %s, collected %s, attempts %d; want 2 of each", ch.Spent, b.Collected, j.Attempts)
	}
	f(another("another", s.epoch+1), 3, nil)
	f(s, 4, ErrLeaseLost)
	f(another("another", s.epoch), 4, ErrLeaseLost)
	all := put(s, 4)["channels"]
	if err := s.send(write{statements: all}); !errors.Is(err, ErrLeaseLost) || !s.isLost() {
		t.Errorf("it goes on: %v", err)
	}
}

// TestEpochOfParts: in a database whose leases are missing, as after a copy of the other tables, the
// next process may replace all rows.
func TestEpochOfParts(t *testing.T) {
	name := create(t)
	old := open(t, name, Options{ExpireEvery: -1})
	pending := job.Row{ID: recordid.New(), Status: api.JobPending}
	if err := errors.Join(old.PutJobs(pending), old.Close()); err != nil {
		t.Fatal(err)
	}
	again := open(t, name, Options{ExpireEvery: -1})
	if err := again.PutJobs(pending); err != nil {
		t.Fatal(err)
	}
	if _, err := again.pool.Exec(context.Background(), `DELETE FROM leases`); err != nil {
		t.Fatal(err)
	}
	next := open(t, name, Options{ExpireEvery: -1})
	if next.epoch != again.epoch+1 {
		t.Errorf("epoch %d after %d", next.epoch, again.epoch)
	}
	if err := next.PutJobs(pending); err != nil {
		t.Error(err)
	}
}
