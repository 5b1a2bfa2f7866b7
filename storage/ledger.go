package storage

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"txlens/actors/channel"
	"txlens/engine/api"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
	bolt "go.etcd.io/bbolt"
)

var _ = channel.StoreOf[*Store]

var (
	bucketChannels   = []byte("channels")
	bucketClosed     = []byte("closed")
	bucketBills      = []byte("bills")
	bucketTickets    = []byte("tickets")
	bucketAdmissions = []byte("admissions")
	bucketIntents    = []byte("intents")
	bucketDebts      = []byte("debts")
	bucketPayers     = []byte("payers")
)

var (
	bills   = table[billRow]{bucketBills}
	tickets = table[ticketRow]{bucketTickets}
	intents = table[channel.Intent]{bucketIntents}
)

// billRetention is one day longer than the retention of runs, so that every stored run has
// its bill.
const billRetention = api.RunRetention + 24*time.Hour

// billRow and ticketRow are the stored values; the rest of a bill or ticket is in its key.
type (
	billRow struct {
		Payer     common.Address `json:"payer,omitzero"`
		Channel   common.Hash    `json:"channel,omitzero"`
		Collected tempo.Amount   `json:"collected"`
		Price     tempo.Amount   `json:"price"`
		Final     bool           `json:"final,omitzero"`
	}
	ticketRow struct {
		Bill    string       `json:"bill"`
		Charged tempo.Amount `json:"charged"`
	}
)

// entrySize is the approximate number of bytes that one entry writes; it counts toward
// maxGroupBytes.
const entrySize = 1 << 10

// Commit writes entries, all or none, and returns when they are on disk.
func (s *Store) Commit(entries ...channel.Entry) error {
	put, size, err := s.putEntries(entries)
	if err == nil {
		err = s.update(size, put)
	}
	return ledgerError(err)
}

// CommitThen is Commit for callers that do not wait; see channel.Writer.
func (s *Store) CommitThen(then func(error), entries ...channel.Entry) {
	put, size, err := s.putEntries(entries)
	if err != nil {
		go then(ledgerError(err))
		return
	}
	s.updateThen(size, put, func(err error) { then(ledgerError(err)) })
}

func ledgerError(err error) error {
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// putEntries is what writes entries, and about how many bytes it writes. Records of runs are packed
// before, because the writer does nothing else meanwhile.
func (s *Store) putEntries(entries []channel.Entry) (put func(*change) error, size int, err error) {
	var runs []func(*change) error
	size = len(entries) * entrySize
	for _, e := range entries {
		if e.Run == nil {
			continue
		}
		run, n, err := s.runPut(*e.Run)
		if err != nil {
			return nil, 0, err
		}
		runs, size = append(runs, run), size+n
	}
	return func(c *change) error {
		for i := range entries {
			if err := putEntry(c, &entries[i]); err != nil {
				return err
			}
		}
		for _, run := range runs {
			if err := run(c); err != nil {
				return err
			}
		}
		return nil
	}, size, nil
}

func putEntry(c *change, e *channel.Entry) error {
	if e.Channel != nil {
		if err := putChannel(c, *e.Channel); err != nil {
			return err
		}
	}
	if e.Forget != nil {
		if err := forgetChannel(c, *e.Forget); err != nil {
			return err
		}
	}
	if e.Bill != nil {
		if err := putBill(c, e.Bill); err != nil {
			return err
		}
	}
	for _, t := range []*channel.Ticket{e.Ticket, e.Request} {
		if t == nil {
			continue
		}
		if err := putTicket(c, *t); err != nil {
			return err
		}
	}
	for _, key := range []*channel.TicketKey{e.Void, e.VoidRequest} {
		if key == nil {
			continue
		}
		if err := tickets.delete(c, bytes.Clone(key[:])); err != nil {
			return err
		}
	}
	return putIntent(c, e)
}

// putBill writes a bill and updates the index of debts.
func putBill(c *change, b *channel.Bill) error {
	id, err := parseID(b.ID)
	if err != nil {
		return err
	}
	if err := bills.put(c, id.headKey(), billRow{b.Payer, b.Channel, b.Collected, b.Price, b.Final}); err != nil {
		return err
	}
	switch {
	case b.Payer == (common.Address{}) || !b.Final:
		return nil
	case b.Debt():
		return c.put(bucketDebts, debtKey(b.Payer, id.headKey()), []byte{})
	}
	return c.delete(bucketDebts, debtKey(b.Payer, id.headKey()))
}

// debtKey is the key of a bill in the index of debts: by payer, oldest first.
func debtKey(payer common.Address, bill []byte) []byte {
	return append(bytes.Clone(payer[:]), bill...)
}

// putChannel stores closed channels in a bucket of their own, so that listing the open
// channels does not become slower over the years.
func putChannel(c *change, row session.Channel) error {
	key := bytes.Clone(row.ID[:])
	if row.Status != session.Closed {
		if err := indexPayer(c, row); err != nil {
			return err
		}
		return c.put(bucketChannels, key, EncodeChannel(row))
	}
	if err := forgetChannel(c, row.ID); err != nil {
		return err
	}
	return c.put(bucketClosed, key, EncodeChannel(row))
}

// indexPayer adds an open channel to the index that ChannelsOf reads. A channel that is
// stored already is in the index. One that is not may have been closed before a
// reorganisation of the chain: it is no longer listed as closed.
func indexPayer(c *change, row session.Channel) error {
	b, err := c.bucket(bucketChannels)
	if err != nil || b.Get(row.ID[:]) != nil {
		return err
	}
	if err := c.delete(bucketClosed, row.ID[:]); err != nil {
		return err
	}
	return c.put(bucketPayers, payerKey(row.Descriptor.Payer, row.ID), []byte{})
}

// forgetChannel deletes an open channel and its index entry.
func forgetChannel(c *change, id common.Hash) error {
	b, err := c.bucket(bucketChannels)
	if err != nil {
		return err
	}
	raw := b.Get(id[:])
	if raw == nil {
		return nil
	}
	row, err := decodeChannel(raw)
	if err != nil {
		return err
	}
	if err := c.delete(bucketPayers, payerKey(row.Descriptor.Payer, id)); err != nil {
		return err
	}
	return c.delete(bucketChannels, bytes.Clone(id[:]))
}

func payerKey(payer common.Address, id common.Hash) []byte {
	return append(bytes.Clone(payer[:]), id[:]...)
}

// putTicket writes a ticket and adds its key to the admissions of its bill. Tickets expire
// with their bill, because their own key holds no time.
func putTicket(c *change, t channel.Ticket) error {
	id, err := parseID(t.Bill)
	if err != nil {
		return err
	}
	if err := tickets.put(c, bytes.Clone(t.Key[:]), ticketRow{t.Bill, t.Charged}); err != nil {
		return err
	}
	b, err := c.bucket(bucketAdmissions)
	if err != nil {
		return err
	}
	keys := b.Get(id.headKey())
	for have := range slices.Chunk(keys, len(t.Key)) {
		if bytes.Equal(have, t.Key[:]) {
			return nil
		}
	}
	return c.put(bucketAdmissions, id.headKey(), append(bytes.Clone(keys), t.Key[:]...))
}

func putIntent(c *change, e *channel.Entry) error {
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

// Channel returns one row, or channel.ErrNoChannel.
func (s *Store) Channel(id common.Hash) (row session.Channel, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		raw := tx.Bucket(bucketChannels).Get(id[:])
		if raw == nil {
			raw = tx.Bucket(bucketClosed).Get(id[:])
		}
		if raw == nil {
			return channel.ErrNoChannel
		}
		row, err = decodeChannel(raw)
		return err
	})
	return row, err
}

// OpenChannels calls visit with the rows of open channels, in the order of their ids. It
// calls visit outside the read transaction, so visit may take long and may use the store.
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

// ChannelsOf returns the ids of a payer's channels that are not closed, at most
// channel.MaxChannelsOf.
func (s *Store) ChannelsOf(payer common.Address) (ids []common.Hash, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketPayers).Cursor()
		for k, _ := c.Seek(payer[:]); bytes.HasPrefix(k, payer[:]) && len(ids) < channel.MaxChannelsOf; k, _ = c.Next() {
			ids = append(ids, common.BytesToHash(k[len(payer):]))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return ids, nil
}

// Channels returns up to limit rows of channels in the order of their ids, beginning at from.
// It lists closed channels if ended is set, open ones otherwise. next is the id to continue
// from, nil at the end of the list.
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

// visitPage bounds the rows that one read transaction decodes.
const visitPage = 1000

// Bill returns one row, or channel.ErrNoBill.
func (s *Store) Bill(id string) (channel.Bill, error) {
	rid, err := parseID(id)
	if err != nil {
		return channel.Bill{}, channel.ErrNoBill
	}
	var row billRow
	err = s.view(func(tx *bolt.Tx) error {
		var there bool
		row, there, err = bills.get(tx, rid.headKey())
		if err == nil && !there {
			err = channel.ErrNoBill
		}
		return err
	})
	return row.bill(rid), err
}

func (r billRow) bill(id recordID) channel.Bill {
	return channel.Bill{
		ID:        id.String(),
		Payer:     r.Payer,
		Channel:   r.Channel,
		Collected: r.Collected,
		Price:     r.Price,
		Final:     r.Final,
	}
}

// Ticket returns one row, or channel.ErrNoTicket.
func (s *Store) Ticket(key channel.TicketKey) (channel.Ticket, error) {
	var row ticketRow
	err := s.view(func(tx *bolt.Tx) (err error) {
		var there bool
		row, there, err = tickets.get(tx, key[:])
		if err == nil && !there {
			err = channel.ErrNoTicket
		}
		return err
	})
	return channel.Ticket{Key: key, Bill: row.Bill, Charged: row.Charged}, err
}

// dropTickets deletes the tickets of an expired bill, except a ticket that was since
// assigned to another bill.
func dropTickets(c *change, bill []byte) error {
	b, err := c.bucket(bucketAdmissions)
	if err != nil {
		return err
	}
	for key := range slices.Chunk(bytes.Clone(b.Get(bill)), len(channel.TicketKey{})) {
		row, there, err := tickets.get(c.tx, key)
		if err != nil {
			return err
		}
		id, err := parseID(row.Bill)
		if !there || err != nil || !bytes.Equal(id.headKey(), bill) {
			continue
		}
		if err := tickets.delete(c, key); err != nil {
			return err
		}
	}
	return nil
}

// dropDebt deletes the index entry of an expired bill that was not paid.
func dropDebt(c *change, bill []byte) error {
	row, there, err := bills.get(c.tx, bill)
	if err != nil || !there || row.Payer == (common.Address{}) {
		return err
	}
	return c.delete(bucketDebts, debtKey(row.Payer, bill))
}

// Debts returns the final bills of a payer that are not fully paid, oldest first.
func (s *Store) Debts(payer common.Address) (list []channel.Bill, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketDebts).Cursor()
		for k, _ := c.Seek(payer[:]); bytes.HasPrefix(k, payer[:]) && len(list) < channel.MaxDebts; k, _ = c.Next() {
			bill := k[len(payer):]
			row, there, err := bills.get(tx, bill)
			if err != nil {
				return err
			}
			id, err := idOfKey(bill)
			if err != nil {
				return err
			}
			if there && !s.hasExpired(id, billRetention) {
				list = append(list, row.bill(id))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return list, nil
}

// Intents returns the stored intents that were not deleted, oldest first.
func (s *Store) Intents() (list []channel.Intent, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		return intents.scan(tx, nil, func(_ []byte, row channel.Intent) error {
			list = append(list, row)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return list, nil
}
