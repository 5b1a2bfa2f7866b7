package storage

import (
	"bytes"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	bolt "go.etcd.io/bbolt"

	"txlens/actors"
	"txlens/engine/explain"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

var _ actors.Ledger = (*Store)(nil)

var (
	bucketChannels   = []byte("channels")
	bucketClosed     = []byte("closed")
	bucketBills      = []byte("bills")
	bucketTickets    = []byte("tickets")
	bucketAdmissions = []byte("admissions")
	bucketIntents    = []byte("intents")
)

var (
	bills   = table[billRow]{bucketBills}
	tickets = table[ticketRow]{bucketTickets}
	intents = table[actors.Intent]{bucketIntents}
)

// billRetention is a day more than that of runs, so that a record which is still
// there has its bill.
const billRetention = explain.RunRetention + 24*time.Hour

// billRow and ticketRow are what of them is not in the key.
type (
	billRow struct {
		Collected tempo.Amount `json:"collected"`
		Price     tempo.Amount `json:"price"`
		Final     bool         `json:"final,omitzero"`
	}
	ticketRow struct {
		Bill    string       `json:"bill"`
		Charged tempo.Amount `json:"charged"`
	}
)

// entrySize is about what one entry writes, for the bounds of a group.
const entrySize = 1 << 10

// Commit writes entries, all or none, and returns when they are on disk.
func (s *Store) Commit(entries ...actors.Entry) error {
	return noted(s.update(len(entries)*entrySize, putEntries(entries)))
}

// CommitThen is Commit for who does not wait; see actors.Ledger.
func (s *Store) CommitThen(then func(error), entries ...actors.Entry) {
	s.updateThen(len(entries)*entrySize, putEntries(entries), func(err error) { then(noted(err)) })
}

func noted(err error) error {
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

func putEntries(entries []actors.Entry) func(*change) error {
	return func(c *change) error {
		for i := range entries {
			if err := putEntry(c, &entries[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func putEntry(c *change, e *actors.Entry) error {
	if e.Channel != nil {
		if err := putChannel(c, *e.Channel); err != nil {
			return err
		}
	}
	if e.Forget != nil {
		if err := c.delete(bucketChannels, bytes.Clone(e.Forget[:])); err != nil {
			return err
		}
	}
	if e.Bill != nil {
		id, err := parseID(e.Bill.ID)
		if err != nil {
			return err
		}
		if err := bills.put(c, id.headKey(), billRow{e.Bill.Collected, e.Bill.Price, e.Bill.Final}); err != nil {
			return err
		}
	}
	if err := putTicket(c, e); err != nil {
		return err
	}
	return putIntent(c, e)
}

// putChannel keeps open channels apart from those that have ended, so that a look
// at all open ones does not grow with the years.
func putChannel(c *change, row session.Channel) error {
	key := bytes.Clone(row.ID[:])
	if row.Status != session.Closed {
		return c.put(bucketChannels, key, encodeChannel(row))
	}
	if err := c.delete(bucketChannels, key); err != nil {
		return err
	}
	return c.put(bucketClosed, key, encodeChannel(row))
}

// putTicket writes a ticket, and under the id of its bill, which tells its age, the
// ticket's key: by that it expires.
func putTicket(c *change, e *actors.Entry) error {
	if t := e.Ticket; t != nil {
		id, err := parseID(t.Bill)
		if err != nil {
			return err
		}
		if err := tickets.put(c, bytes.Clone(t.Key[:]), ticketRow{t.Bill, t.Charged}); err != nil {
			return err
		}
		if err := c.put(bucketAdmissions, id.headKey(), bytes.Clone(t.Key[:])); err != nil {
			return err
		}
	}
	if e.Void != nil {
		return tickets.delete(c, bytes.Clone(e.Void[:]))
	}
	return nil
}

func putIntent(c *change, e *actors.Entry) error {
	if e.Intent != nil {
		id, err := parseID(e.Intent.ID)
		if err != nil {
			return err
		}
		if err := intents.put(c, id.headKey(), *e.Intent); err != nil {
			return err
		}
	}
	if e.Drop == "" {
		return nil
	}
	id, err := parseID(e.Drop)
	if err != nil {
		return err
	}
	return intents.delete(c, id.headKey())
}

// Channel returns one row, or actors.ErrNoChannel.
func (s *Store) Channel(id common.Hash) (row session.Channel, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		raw := tx.Bucket(bucketChannels).Get(id[:])
		if raw == nil {
			raw = tx.Bucket(bucketClosed).Get(id[:])
		}
		if raw == nil {
			return actors.ErrNoChannel
		}
		row, err = decodeChannel(raw)
		return err
	})
	return row, err
}

// OpenChannels visits the rows that are not closed, in the order of their ids. The
// visits come after the reading, so they may take their time and use the store.
func (s *Store) OpenChannels(visit func(session.Channel) error) error {
	for from := new(common.Hash); from != nil; {
		rows, next, err := s.Channels(false, *from, visitPage)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := visit(row); err != nil {
				return err
			}
		}
		from = next
	}
	return nil
}

// Channels returns up to limit rows of channels in the order of their ids, the first
// not below from; ended picks those that are closed instead of those that are not.
// next is where the list goes on, nil at its end.
func (s *Store) Channels(ended bool, from common.Hash, limit int) (rows []session.Channel, next *common.Hash, err error) {
	bucket := bucketChannels
	if ended {
		bucket = bucketClosed
	}
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, v := c.Seek(from[:]); k != nil; k, v = c.Next() {
			if len(rows) == limit {
				next = new(common.BytesToHash(k))
				return nil
			}
			row, err := decodeChannel(v)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read ledger: %w", err)
	}
	return rows, next, nil
}

// visitPage bounds what one read transaction decodes.
const visitPage = 1000

// Bill returns one row, or actors.ErrNoBill.
func (s *Store) Bill(id string) (actors.Bill, error) {
	rid, err := parseID(id)
	if err != nil {
		return actors.Bill{}, actors.ErrNoBill
	}
	var row billRow
	err = s.view(func(tx *bolt.Tx) error {
		var there bool
		row, there, err = bills.get(tx, rid.headKey())
		if err == nil && !there {
			err = actors.ErrNoBill
		}
		return err
	})
	return actors.Bill{ID: rid.String(), Collected: row.Collected, Price: row.Price, Final: row.Final}, err
}

// Ticket returns one row, or actors.ErrNoTicket.
func (s *Store) Ticket(key actors.TicketKey) (actors.Ticket, error) {
	var row ticketRow
	err := s.view(func(tx *bolt.Tx) (err error) {
		var there bool
		row, there, err = tickets.get(tx, key[:])
		if err == nil && !there {
			err = actors.ErrNoTicket
		}
		return err
	})
	return actors.Ticket{Key: key, Bill: row.Bill, Charged: row.Charged}, err
}

// dropTicket deletes the ticket of an admission that expires.
func dropTicket(c *change, admission []byte) error {
	b, err := c.bucket(bucketAdmissions)
	if err != nil {
		return err
	}
	return tickets.delete(c, bytes.Clone(b.Get(admission)))
}

// Intents returns what was written and not dropped, oldest first.
func (s *Store) Intents() (list []actors.Intent, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		return intents.scan(tx, nil, func(_ []byte, row actors.Intent) error {
			list = append(list, row)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return list, nil
}
