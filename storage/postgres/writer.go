package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"txlens/actors/job"
	"txlens/engine/api"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Bounds of one group of writes.
const (
	maxGroup      = 1024
	maxGroupBytes = 8 << 20
)

// statement is one statement of a write.
type statement struct {
	sql  string
	args []any
	scan func(pgx.Row) error  // reads the answer; nil: there is none, or all reads it
	all  func(pgx.Rows) error // reads an answer of any number of rows

	growth *growth // what it has added, after the commit; nil: it is not counted
}

// write is what one caller wants to be written, all or none.
type write struct {
	statements []statement
	size       int
	evicts     bool        // deletes records before they expire
	unleased   bool        // needs no lease, because no other process writes the same rows
	onDone     func(error) // called once, by the writer; must not block
}

// apply has statements executed and returns when they are committed.
func (s *Store) apply(size int, statements ...statement) error {
	return s.send(write{statements: statements, size: size})
}

// send gives a write to the writer and returns when it is committed.
func (s *Store) send(w write) error {
	done := make(chan error, 1)
	w.onDone = func(err error) { done <- err }
	s.mu.RLock()
	if err := s.refuses(w); err != nil {
		s.mu.RUnlock()
		return err
	}
	s.writes <- w
	s.mu.RUnlock()
	return <-done
}

// refuses returns why a write cannot be accepted. s.mu must be held.
func (s *Store) refuses(w write) error {
	switch {
	case s.closed:
		return ErrClosed
	case s.released && !w.unleased:
		return ErrReleased
	case s.isLost():
		return ErrLeaseLost
	case s.hold.ended():
		return fmt.Errorf("%w: the lease could not be renewed", api.ErrStoreAway)
	}
	return nil
}

// sendThen is send without waiting. w.onDone is called with the outcome.
func (s *Store) sendThen(w write) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.refuses(w) == nil {
		select {
		case s.writes <- w:
			return
		default: // a whole group waits
		}
	}
	onDone := w.onDone
	go func() { onDone(s.send(w)) }()
}

// writeLoop commits writes until the store is closed.
func (s *Store) writeLoop() {
	defer s.workers.Done()
	s.recount()
	for first := range s.writes {
		s.writeGroup(s.makeRoom(s.collectGroup(first)))
		s.afterGroup()
	}
}

// note logs an error, and remembers that the lease is lost.
func (s *Store) note(err error) {
	if err == nil {
		return
	}
	s.options.Log.Error("write to the database", "error", err)
	if errors.Is(err, ErrLeaseLost) {
		s.loss.Do(func() { close(s.lost) })
	}
}

// collectGroup adds the writes that wait already.
func (s *Store) collectGroup(first write) []write {
	group, size := []write{first}, first.size
	for len(group) < maxGroup && size < maxGroupBytes {
		select {
		case w, ok := <-s.writes:
			if !ok {
				return group
			}
			group, size = append(group, w), size+w.size
			continue
		default:
		}
		break
	}
	return group
}

// writeGroup commits a group, or each write by itself if one of them makes the group fail.
func (s *Store) writeGroup(group []write) {
	err := s.commit(group)
	if err == nil || len(group) == 1 || errors.Is(err, ErrLeaseLost) {
		s.note(leaseLoss(err))
		for _, w := range group {
			w.onDone(err)
		}
		return
	}
	for _, w := range group {
		err := s.commit([]write{w})
		s.note(leaseLoss(err))
		w.onDone(err)
	}
}

// leaseLoss is err if that is ErrLeaseLost; other errors belong to their callers.
func leaseLoss(err error) error {
	if errors.Is(err, ErrLeaseLost) {
		return err
	}
	return nil
}

// attempts bounds the repetitions of a transaction.
const attempts = 5

// commit executes a group in one transaction. It repeats one that the database asks to be
// repeated, and one whose connection broke: the outcome does not depend on whether the first
// attempt was committed.
func (s *Store) commit(group []write) (err error) {
	for i := range attempts {
		if i > 0 {
			time.Sleep(time.Duration(i*i) * 20 * time.Millisecond)
		}
		err = s.commitOnce(group)
		switch {
		case err == nil:
			s.commits.Add(1)
			s.book(group)
			return nil
		case errors.Is(err, errLeaseEnded):
			// An outage is for the next attempt.
			if failed := s.renewInTime(); errors.Is(failed, ErrLeaseLost) || failed != nil && !isOutage(failed) {
				return failed
			}
		case errors.Is(err, ErrLeaseLost), errors.Is(err, job.ErrTaken):
			return err
		case isSerializationFailure(err):
			s.conflicts.Add(1)
		case isOutage(err):
			s.reconnects.Add(1)
			s.budget.doubt.Store(true) // it may be committed
		default:
			return err
		}
	}
	return away(err)
}

func (s *Store) commitOnce(group []write) error {
	ctx, cancel := context.WithTimeout(s.hold.context(), StatementTimeout)
	defer cancel()
	leased := !s.isReleased() || slices.ContainsFunc(group, func(w write) bool { return !w.unleased })
	return pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error {
		if leased {
			if err := s.fence(ctx, tx); err != nil {
				return err
			}
		}
		batch := new(pgx.Batch)
		for _, w := range group {
			for _, st := range w.statements {
				q := batch.Queue(st.sql, st.args...)
				switch {
				case st.scan != nil:
					q.QueryRow(st.scan)
				case st.all != nil:
					q.Query(st.all)
				}
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// isSerializationFailure reports whether the database asks for a transaction to be repeated.
func isSerializationFailure(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

// isOutage reports whether a statement failed because the connection broke, or because the
// server stops, starts, or takes no writes.
func isOutage(err error) bool {
	e, fromServer := errors.AsType[*pgconn.PgError](err)
	return !fromServer || isPassing(e)
}

// isPassing reports whether an error of the server passes: it stops, starts, or takes no writes.
func isPassing(e *pgconn.PgError) bool {
	return strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "57") || e.Code == "25006"
}

// isAway reports whether a database could not be reached for a reason that may pass. A wrong
// password or an unknown database does not.
func isAway(err error) bool {
	if e, fromServer := errors.AsType[*pgconn.PgError](err); fromServer {
		return isPassing(e)
	}
	_, unreached := errors.AsType[*pgconn.ConnectError](err)
	return unreached
}
