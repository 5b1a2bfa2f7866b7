package storage

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// account and charge are rows like those of a ledger: one under a key of 32 bytes
// that changes under conditions, one under that key and a number, written once.
type (
	account struct{ Highest, Spent uint64 }
	charge  struct{ Amount uint64 }
)

var (
	accounts = table[account]{[]byte("accounts")}
	charges  = table[charge]{[]byte("charges")}

	errShort = errors.New("not covered")
	errTwice = errors.New("charged already")
)

func chargeKey(id [32]byte, n uint64) []byte { return binary.BigEndian.AppendUint64(id[:], n) }

// pay charges an account once for each n, as far as it is covered.
func pay(s *Store, id [32]byte, n, amount uint64) (after account, err error) {
	err = s.update(200, func(c *change) error {
		if _, there, err := charges.get(c.tx, chargeKey(id, n)); there || err != nil {
			return errors.Join(err, errTwice)
		}
		if err := charges.put(c, chargeKey(id, n), charge{amount}); err != nil {
			return err
		}
		row, _, err := accounts.get(c.tx, id[:])
		if err != nil {
			return err
		}
		if row.Highest-row.Spent < amount {
			return errShort // after the charge was written: it must not stay
		}
		row.Spent += amount
		after = row
		return accounts.put(c, id[:], row)
	})
	return after, err
}

// TestAccounts: many who pay at once from the same accounts share commits, each
// hears of its own payment, and the books balance, also when opened again.
func TestAccounts(t *testing.T) {
	before := layouts
	layouts = append(layouts[:len(layouts):len(layouts)], [][]byte{accounts.bucket, charges.bucket})
	defer func() { layouts = before }()
	dir := t.TempDir()
	s := open(t, dir, Options{})
	commits := 0
	s.commitTx = func(tx *bolt.Tx) error { commits++; return tx.Commit() }
	const holders, payers, each, covered = 8, 64, 40, 2000
	ids := make([][32]byte, holders)
	for i := range ids {
		for j := range ids[i] {
			ids[i][j] = byte(rnd.Uint32())
		}
		if err := s.update(100, func(c *change) error { return accounts.put(c, ids[i][:], account{Highest: covered}) }); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	paid, short, twice := map[[32]byte]uint64{}, 0, 0
	var wg sync.WaitGroup
	for p := range payers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(p), 1))
			for range each {
				id, amount := ids[r.IntN(holders)], 1+r.Uint64N(20)
				after, err := pay(s, id, r.Uint64N(400), amount)
				mu.Lock()
				switch {
				case err == nil && after.Spent <= covered:
					paid[id] += amount
				case errors.Is(err, errShort):
					short++
				case errors.Is(err, errTwice):
					twice++
				default:
					t.Errorf("%+v, %v", after, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d payments in %d commits: %d not covered, %d repeated", payers*each, commits, short, twice)
	if commits > payers*each/2 || short == 0 || twice == 0 {
		t.Error("too little happened at once to say anything")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if err := s.view(func(tx *bolt.Tx) error {
		for _, id := range ids {
			row, there, err := accounts.get(tx, id[:])
			var sum uint64
			err = errors.Join(err, charges.scan(tx, id[:], func(_ []byte, c charge) error { sum += c.Amount; return nil }))
			if err != nil || !there || row.Spent != paid[id] || sum != row.Spent || row.Spent > row.Highest {
				t.Errorf("%x: %+v, charges %d, paid %d, %v", id[:4], row, sum, paid[id], err)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	check(t, s)
}
