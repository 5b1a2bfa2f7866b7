package stores

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/mpp/session"
	"txlens/storage"
)

// Records are the methods of a store that list its records with their bodies.
type Records interface {
	JobsAfter(id string, limit int) ([]job.Row, error)
	RunsAfter(id string, limit int) ([]job.RunRow, error)
}

// Payments are the methods of a store that list what PaymentStore does not.
type Payments interface {
	BillsAfter(id string, limit int) ([]channel.Bill, error)
	TicketsAfter(key channel.TicketKey, limit int) ([]channel.Ticket, error)
	Secrets() (map[string][]byte, error)
}

// Copying are the methods of a store that remember a copy which has not ended.
type Copying interface {
	// CopyState returns how far a copy into this store has come; empty: there is none.
	CopyState() (string, error)
	SetCopyState(state string) error
}

// Limits of one batch of a copy.
const (
	recordBatch = 64   // rows with bodies
	rowBatch    = 1000 // rows of the ledger
)

// batch is the next rows of one part of a store.
type batch struct {
	rows [][]byte          // canonical encodings, for the checksum
	put  func(Store) error // writes the rows
	last string            // key of the last row, from which the next batch continues; empty: the part has ended
}

// part is a kind of row. next returns the rows after a key; the empty key is before all others.
type part struct {
	name string
	next func(s Store, after string) (batch, error)
}

// parts are all kinds of rows, in the order in which they are copied. Entries of job.KeptStore are
// none of them: they are a cache over runs, and one that is missing costs one analysis, while each
// part makes a copy longer and is in the checksums that operators compare.
var parts = []part{
	{"secrets", secretsBatch},
	{"channels", func(s Store, after string) (batch, error) { return channelsBatch(s, false, after) }},
	{"closed channels", func(s Store, after string) (batch, error) { return channelsBatch(s, true, after) }},
	{"bills", billsBatch},
	{"tickets", ticketsBatch},
	{"transactions", intentsBatch},
	{"runs", runsBatch},
	{"jobs", jobsBatch},
}

// encode is the canonical encoding of a row.
func encode(row any) ([]byte, error) { return json.Marshal(row, json.Deterministic(true)) }

// encodeAll encodes rows and returns a batch without put. key is nil for a part that is one
// batch.
func encodeAll[R any](rows []R, key func(R) string) (b batch, err error) {
	for _, row := range rows {
		raw, err := encode(row)
		if err != nil {
			return batch{}, err
		}
		b.rows = append(b.rows, raw)
	}
	if len(rows) > 0 && key != nil {
		b.last = key(rows[len(rows)-1])
	}
	return b, nil
}

func secretsBatch(s Store, _ string) (batch, error) {
	all, err := s.Payments.Secrets()
	if err != nil {
		return batch{}, err
	}
	type secret struct {
		Name  string
		Value []byte
	}
	var rows []secret
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, secret{name, all[name]})
	}
	b, err := encodeAll(rows, nil)
	b.put = func(to Store) error {
		for _, row := range rows {
			kept, err := to.Secret(row.Name, row.Value)
			if err != nil {
				return err
			}
			if !bytes.Equal(kept, row.Value) {
				return fmt.Errorf("%w: it has another secret of %s", ErrNotEmpty, row.Name)
			}
		}
		return nil
	}
	return b, err
}

// commitAll writes one entry for each row.
func commitAll[R any](rows []R, entry func(*R) channel.Entry) func(Store) error {
	return func(to Store) error {
		entries := make([]channel.Entry, 0, len(rows))
		for i := range rows {
			entries = append(entries, entry(&rows[i]))
		}
		return to.Commit(entries...)
	}
}

func channelsBatch(s Store, ended bool, after string) (b batch, err error) {
	from := common.HexToHash(after)
	list, next, err := s.PaymentStore.Channels(ended, from, rowBatch)
	if err != nil {
		return batch{}, err
	}
	for _, row := range list {
		b.rows = append(b.rows, storage.EncodeChannel(row))
	}
	if next != nil {
		b.last = next.Hex() // the first of the next batch: Channels returns it
	}
	b.put = commitAll(list, func(row *session.Channel) channel.Entry { return channel.Entry{Channel: row} })
	return b, nil
}

func billsBatch(s Store, after string) (batch, error) {
	list, err := s.Payments.BillsAfter(after, rowBatch)
	if err != nil {
		return batch{}, err
	}
	b, err := encodeAll(list, func(r channel.Bill) string { return r.ID })
	b.put = commitAll(list, func(row *channel.Bill) channel.Entry { return channel.Entry{Bill: row} })
	return b, err
}

func ticketsBatch(s Store, after string) (batch, error) {
	list, err := s.Payments.TicketsAfter(channel.TicketKey(common.HexToHash(after)), rowBatch)
	if err != nil {
		return batch{}, err
	}
	b, err := encodeAll(list, func(r channel.Ticket) string { return hex.EncodeToString(r.Key[:]) })
	b.put = commitAll(list, func(row *channel.Ticket) channel.Entry { return channel.Entry{Ticket: row} })
	return b, err
}

func intentsBatch(s Store, _ string) (batch, error) {
	list, err := s.Intents()
	if err != nil {
		return batch{}, err
	}
	b, err := encodeAll(list, nil)
	b.put = commitAll(list, func(row *channel.Intent) channel.Entry { return channel.Entry{Intent: row} })
	return b, err
}

func runsBatch(s Store, after string) (batch, error) {
	list, err := s.Records.RunsAfter(after, recordBatch)
	if err != nil {
		return batch{}, err
	}
	b, err := encodeAll(list, func(r job.RunRow) string { return r.ID })
	b.put = func(to Store) error {
		var all errgroup.Group // concurrent writes share a commit
		for _, row := range list {
			all.Go(func() error { return to.Runs.PutRun(row) })
		}
		return all.Wait()
	}
	return b, err
}

func jobsBatch(s Store, after string) (batch, error) {
	list, err := s.Records.JobsAfter(after, recordBatch)
	if err != nil {
		return batch{}, err
	}
	b, err := encodeAll(list, func(r job.Row) string { return r.ID })
	b.put = func(to Store) error { return to.Jobs.PutJobs(list...) }
	return b, err
}

// Sum describes one part of a store.
type Sum struct {
	Part     string
	Rows     int
	Checksum string // SHA-256 of all rows in the order of their keys, in hexadecimal
}

// Sums reads all of a store. Two stores with equal sums contain the same.
func Sums(ctx context.Context, s Store) (all []Sum, err error) {
	for _, p := range parts {
		sum, n := sha256.New(), 0
		err := p.walk(ctx, s, "", func(b batch) error {
			n += len(b.rows)
			addRows(sum, b.rows)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p.name, err)
		}
		all = append(all, Sum{p.name, n, hex.EncodeToString(sum.Sum(nil))})
	}
	return all, nil
}

func addRows(sum hash.Hash, rows [][]byte) {
	for _, row := range rows {
		own := sha256.Sum256(row)
		sum.Write(own[:])
	}
}

// walk calls do with the batches after a key.
func (p part) walk(ctx context.Context, s Store, after string, do func(batch) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := p.next(s, after)
		if err == nil && len(b.rows) > 0 {
			err = do(b)
		}
		if err != nil || b.last == "" {
			return err
		}
		after = b.last
	}
}

// Errors of Copy, for errors.Is.
var (
	// ErrNotEmpty means that the store to copy into contains something.
	ErrNotEmpty = errors.New("the store to copy into is not empty")
	// ErrUnfinished means that a copy into a store has not ended.
	ErrUnfinished = errors.New("a copy into the store has not ended; run txlens store copy again")
	// ErrChanged means that the copy differs from what it was made of.
	ErrChanged = errors.New("the stores differ after the copy: the first one was changed in between; run the copy again")
)

// Copy copies everything that has not expired from one store into an empty one, and compares
// both. If it is interrupted, the second store cannot be served from, and the next Copy
// continues. progress is called after each batch.
func Copy(ctx context.Context, from, to Store, progress func(part string, rows int)) ([]Sum, error) {
	at, after, err := beginCopy(ctx, to)
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		if i < at {
			continue
		}
		rows := 0
		err := p.walk(ctx, from, after, func(b batch) error {
			if err := b.put(to); err != nil {
				return err
			}
			rows += len(b.rows)
			progress(p.name, rows)
			if b.last == "" {
				return nil
			}
			return to.Copying.SetCopyState(copyState(p.name, b.last))
		})
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", p.name, err)
		}
		after = ""
		if i+1 < len(parts) {
			if err := to.Copying.SetCopyState(copyState(parts[i+1].name, "")); err != nil {
				return nil, err
			}
		}
	}
	return endCopy(ctx, from, to)
}

// copyState is the state of a copy that continues in a part after a key.
func copyState(part, after string) string { return part + "/" + after }

// beginCopy returns where the copy begins or continues.
func beginCopy(ctx context.Context, to Store) (at int, after string, err error) {
	state, err := to.Copying.CopyState()
	if err != nil {
		return 0, "", err
	}
	if state != "" {
		name, after, _ := strings.Cut(state, "/")
		if at = slices.IndexFunc(parts, func(p part) bool { return p.name == name }); at < 0 {
			return 0, "", fmt.Errorf("%w, and this program does not know how far it has come", ErrUnfinished)
		}
		return at, after, nil
	}
	for _, p := range parts {
		err := p.walk(ctx, to, "", func(batch) error { return fmt.Errorf("%w: it has %s", ErrNotEmpty, p.name) })
		if err != nil {
			return 0, "", err
		}
	}
	return 0, "", to.Copying.SetCopyState(copyState(parts[0].name, ""))
}

// endCopy compares the stores and ends the copy. If they differ, the next copy begins anew.
func endCopy(ctx context.Context, from, to Store) ([]Sum, error) {
	want, err := Sums(ctx, from)
	if err != nil {
		return nil, err
	}
	got, err := Sums(ctx, to)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(want, got) {
		return got, errors.Join(ErrChanged, to.Copying.SetCopyState(copyState(parts[0].name, "")))
	}
	return got, to.Copying.SetCopyState("")
}

// checkCopy returns ErrUnfinished if a copy into the store has not ended.
func (s Store) checkCopy() error {
	state, err := s.Copying.CopyState()
	if err == nil && state != "" {
		err = ErrUnfinished
	}
	return err
}

// CopyOptions are the options with which both stores of a Copy are opened at a time: nothing
// expires while it runs. A database server ends the sessions of a command that was killed when it
// has done what they asked for, so they wait a little.
func CopyOptions(at time.Time) Options {
	return Options{LeaseWait: 2 * time.Second, ExpireEvery: -1, Now: func() time.Time { return at }, unfinished: true, command: true}
}
